# The image of the operator. Build from the root of a checkout: docker build -f deploy/docker/operator.Dockerfile -t bunting-operator .
#
# deploy/docker/README.md: platforms, labels, other base images.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a

# Runs on the machine that builds, whatever the image is for: JavaScript is the same on all of them.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
RUN npx --yes pnpm@10.34.9 fetch
COPY . .
RUN npx --yes pnpm@10.34.9 install --offline --frozen-lockfile && node --import=tsx scripts/bundle.ts agent proxy operator
# The maps of the chunks would be half of the image. The bundle's own stays.
RUN mkdir /operator && cp -r LICENSE packages/operator/dist/bunting-operator.* packages/operator/dist/chunks /operator/ && find /operator/chunks -name '*.map' -delete

# Named because buildah 1.28 would go on with the platform of the stage before.
FROM --platform=$TARGETPLATFORM ${RUNTIME_IMAGE}
ARG VERSION=0.1.0 REVISION="" SOURCE="" CREATED=""
LABEL org.opencontainers.image.title="bunting-operator" \
      org.opencontainers.image.description="Brings feature flags to Pods: deploys the proxy, and injects agents" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /operator /app
USER 65532:65532
EXPOSE 8080 8081 9443
# docs/memory.md says what each of these flags and variables saves.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536 MALLOC_TOP_PAD_=16384
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=1", "--max-old-space-size=96", "--v8-pool-size=1", "--expose-gc", "--no-maglev", "--concurrent-recompilation-queue-length=1", "/app/bunting-operator.cjs"]
CMD ["start"]
