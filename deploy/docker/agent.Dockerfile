# The image for SIDECAR_IMAGE. Build from the root of the repository, after `npm run build`:
#   docker build -f deploy/docker/agent.Dockerfile -t bunting-agent .
#
# docs/memory.md has what each flag and variable is for, and what it saves; `npm run bench -- agent-memory` has the figures.
FROM gcr.io/distroless/nodejs20-debian12:nonroot
COPY packages/agent/dist/bunting-agent.cjs packages/agent/dist/bunting-agent.cjs.map /app/
COPY packages/agent/dist/chunks /app/chunks
USER 65532:65532
EXPOSE 8013 8014 8015 8016
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=1", "--max-old-space-size=32", "--optimize-for-size", "--v8-pool-size=1", "--expose-gc", "--no-allocation-site-pretenuring", "--no-maglev", "--concurrent-recompilation-queue-length=1", "--use-openssl-ca", "/app/bunting-agent.cjs"]
CMD ["start"]
