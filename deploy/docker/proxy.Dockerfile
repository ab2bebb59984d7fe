# The image for FLAGD_PROXY_IMAGE. Build from the root of a checkout: docker build -f deploy/docker/proxy.Dockerfile -t bunting-proxy .
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
# The CLI is for `kubectl exec`.
# Without the source map of a library of others, which is larger than the library.
RUN node --import=tsx scripts/bundle-cli.ts && mkdir /proxy && \
    cp -r LICENSE packages/proxy/dist/bunting-proxy.* packages/proxy/dist/chunks /proxy/ && cp -r packages/cli/dist/bundle /proxy/cli && \
    rm /proxy/chunks/client-node.mjs.map

# glibc keeps what a burst of connections has freed in pieces: 1.5 times the memory of before, for good. jemalloc returns it within seconds.
# It is unpacked, not installed, so nothing of the other platform has to run. Scanners look for Debian's packages in status.d.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS allocator
ARG TARGETARCH
WORKDIR /tmp/jemalloc
RUN dpkg --add-architecture "${TARGETARCH}" && apt-get update && apt-get download "libjemalloc2:${TARGETARCH}" && dpkg -x libjemalloc2_*.deb . && \
    mkdir -p /jemalloc/usr/lib /jemalloc/usr/share/doc/libjemalloc2 /jemalloc/var/lib/dpkg/status.d && cp -L usr/lib/*-linux-gnu/libjemalloc.so.2 /jemalloc/usr/lib/ && \
    cp usr/share/doc/libjemalloc2/copyright /jemalloc/usr/share/doc/libjemalloc2/ && dpkg-deb --field libjemalloc2_*.deb > /jemalloc/var/lib/dpkg/status.d/libjemalloc2

# Named because buildah 1.28 would go on with the platform of the stage before.
FROM --platform=$TARGETPLATFORM ${RUNTIME_IMAGE}
ARG VERSION=0.1.0 REVISION="" SOURCE="" CREATED=""
LABEL org.opencontainers.image.title="bunting-proxy" \
      org.opencontainers.image.description="Watches feature flags and streams every change to agents and OpenFeature providers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=allocator /jemalloc /
COPY --from=build /proxy /app
USER 65532:65532
EXPOSE 8015 8016
ENV LD_PRELOAD=/usr/lib/libjemalloc.so.2 MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,narenas:2
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "--expose-gc", "/app/bunting-proxy.cjs"]
CMD ["start"]
