"""Whatever comes in as bytes: tables, JSON, XLSX, images, downloads."""
