# The image for SIDECAR_IMAGE. Build from the root of the repository, after `npm run build`:
#   docker build -f deploy/docker/agent.Dockerfile -t bunting-agent .
#
# The heap is capped for the 64Mi that operators give a sidecar; docs/operations.md says which documents need more.
FROM gcr.io/distroless/nodejs20-debian12:nonroot
COPY packages/agent/dist/bunting-agent.mjs /app/bunting-agent.mjs
COPY packages/agent/dist/chunks /app/chunks
USER 65532:65532
EXPOSE 8013 8014 8015 8016
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=1", "--max-old-space-size=32", "/app/bunting-agent.mjs"]
CMD ["start"]
