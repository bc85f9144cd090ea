# Wheels are fetched by hash first; the image then takes only what the product itself needs from them.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock ./
RUN pip download -q --require-hashes --only-binary=:all: -r requirements.lock -d /wheels
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY policies ./policies
COPY connectors ./connectors
COPY bot ./bot
RUN python -m venv /opt/footnote \
 && /opt/footnote/bin/pip install -q --no-index --find-links /wheels "setuptools>=77" \
 && /opt/footnote/bin/pip install -q --no-index --find-links /wheels --no-build-isolation .

FROM python:3.11-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends tesseract-ocr \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home footnote \
 && install -d -o footnote -g footnote -m 0700 /data
COPY --from=build /opt/footnote /opt/footnote
ENV PATH=/opt/footnote/bin:$PATH PYTHONDONTWRITEBYTECODE=1 FOOTNOTE_DATA=/data FOOTNOTE_HOST=0.0.0.0
USER 10001
VOLUME /data
EXPOSE 8080 9090
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:9090/healthz', timeout=4)"]
ENTRYPOINT ["footnote"]
CMD ["serve"]
