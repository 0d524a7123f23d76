"""Input files: tables, strict JSON, XLSX, images, downloads."""
