# Stereoscope in a container: docker build -t stereoscope . && docker run -p 7860:7860 -v stereoscope:/data stereoscope
# 3.12.14 on Debian trixie, as of September 2026, for every platform; the tag's digest moves with each security fix.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

# PyTorch without CUDA is a tenth of the size; with a GPU: --build-arg TORCH=https://download.pytorch.org/whl/cu128
ARG TORCH=https://download.pytorch.org/whl/cpu

WORKDIR /app
COPY requirements.txt requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
RUN pip install --no-cache-dir --extra-index-url "$TORCH" -r requirements.txt
COPY app.py LICENSE README.md ./
COPY arena ./arena
COPY docs ./docs
COPY scoring ./scoring
# Modules and templates are compiled here: the user below may not write beside them.
RUN python -c "import app"

# Nobody in particular runs it, and may write to the data only.
RUN useradd --create-home --uid 1000 stereoscope && install -d -o stereoscope -g stereoscope /data
USER stereoscope
ENV HOST=0.0.0.0 PORT=7860 DATA_DIR=/data PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 7860

HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/readyz')"]
CMD ["python", "app.py"]
