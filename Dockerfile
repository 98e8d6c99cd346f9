# The app with the embedded store and the local models. Callers, pages included, send the key:
#   docker build -t azure-rag . && docker run -p 127.0.0.1:7071:7071 -v rag:/data -e RAG_FUNCTIONS_KEY=… azure-rag
#   docker run -v rag:/data -v ~/manuals:/docs:ro azure-rag index /docs
FROM python:3.13-slim-bookworm AS built
WORKDIR /src
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE requirements-local.txt constraints.txt function_app.py ./
COPY rag_core rag_core
COPY functions functions
COPY local_emulator local_emulator
COPY web web
RUN python -m venv /venv \
    && /venv/bin/python -m pip install --no-cache-dir -c constraints.txt ".[embedded,mcp]" \
    && /venv/bin/python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements-local.txt

FROM python:3.13-slim-bookworm
RUN useradd --create-home --uid 10001 rag && install -d -o rag -g rag -m 0700 /data
COPY --from=built /venv /venv
ENV PATH=/venv/bin:$PATH RAG_DATA_DIR=/data PYTHONUNBUFFERED=1 MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072
USER rag
WORKDIR /home/rag
VOLUME /data
EXPOSE 7071
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7071/api/health')"]
ENTRYPOINT ["rag"]
CMD ["serve", "--host", "0.0.0.0"]
