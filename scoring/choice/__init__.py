"""Multiple choice and VQA marks: files in, letters read, reports out."""
