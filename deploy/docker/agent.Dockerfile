# The image for SIDECAR_IMAGE. Build from the root of the repository, after `npm run build`:
#   docker build -f deploy/docker/agent.Dockerfile -t bunting-agent .
#
# What the flags of V8 are for (`npm run bench -- agent-memory` has the figures):
#   max-old-space-size, max-semi-space-size: the heap is capped for the 64Mi that operators give a sidecar; docs/operations.md lists the
#     documents that need more.
#   optimize-for-size: the heap grows later; 1 to 1.5 MB less until V8 has tidied up, some 10 s after the start.
#   v8-pool-size: one helper thread instead of four.
#   expose-gc: lets the agent collect the garbage of its start once.
# The agent itself delays the optimising compiler until it has flags (packages/agent/src/late-optimisation.ts), and lets V8 collect before
# much garbage has accumulated (packages/agent/src/early-collection.ts).
FROM gcr.io/distroless/nodejs20-debian12:nonroot
COPY packages/agent/dist/bunting-agent.cjs packages/agent/dist/bunting-agent.cjs.map /app/
COPY packages/agent/dist/chunks /app/chunks
USER 65532:65532
EXPOSE 8013 8014 8015 8016
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=1", "--max-old-space-size=32", "--optimize-for-size", "--v8-pool-size=1", "--expose-gc", "/app/bunting-agent.cjs"]
CMD ["start"]
