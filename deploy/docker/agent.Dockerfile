# The image for SIDECAR_IMAGE. Build from the root of a checkout: docker build -f deploy/docker/agent.Dockerfile -t bunting-agent .
#
# deploy/docker/README.md: platforms, labels, other base images. docs/memory.md has what each flag and variable is for, and what it saves;
# `npm run bench -- agent-memory` has the figures.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a

# Named because buildah 1.28 would go on with the platform of the stage before.
FROM --platform=$TARGETPLATFORM ${RUNTIME_IMAGE} AS runtime

# Runs on the machine that builds, whatever the image is for: JavaScript is the same on all of them.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
RUN npx --yes pnpm@10.34.9 fetch
COPY . .
RUN npx --yes pnpm@10.34.9 install --offline --frozen-lockfile && node --import=tsx scripts/bundle.ts agent proxy operator
# The maps of the chunks would be a third of the image. The bundle's own stays.
RUN mkdir /agent && cp -r LICENSE packages/agent/dist/bunting-agent.* packages/agent/dist/start-agent.cjs packages/agent/dist/chunks /agent/ && find /agent/chunks -name '*.map' -delete
# V8's code cache, by the node that will read it. If that can't run here (another architecture), there is none, and the agent starts more slowly.
COPY --from=runtime /nodejs/bin/node /runtime/node
RUN node --import=tsx scripts/code-cache/make-code-cache.ts /runtime/node /agent-cache

FROM runtime
ARG VERSION=0.1.0 REVISION="" SOURCE="" CREATED=""
LABEL org.opencontainers.image.title="bunting-agent" \
      org.opencontainers.image.description="Keeps feature flags next to a workload and answers its evaluations" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /agent /app
# A layer of its own: the one before is the same for all platforms and builds.
COPY --from=build /agent-cache /app
USER 65532:65532
EXPOSE 8013 8014 8015 8016
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536 MALLOC_TOP_PAD_=16384 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=1", "--max-old-space-size=32", "--v8-pool-size=1", "--expose-gc", "--no-allocation-site-pretenuring", "--concurrent-recompilation-queue-length=1", "--use-openssl-ca", "/app/start-agent.cjs"]
CMD ["start"]
