# The image for FLAGD_PROXY_IMAGE. Build from the root of the repository, after `npm run build`:
#   docker build -f deploy/docker/proxy.Dockerfile -t bunting-proxy .
FROM node:20-bookworm-slim AS packed
WORKDIR /src
COPY . .
RUN npx --yes pnpm@10.34.9 --filter @bunting/proxy deploy --prod --legacy /app

FROM gcr.io/distroless/nodejs20-debian12:nonroot
COPY --from=packed /app /app
USER 65532:65532
EXPOSE 8015 8016
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "/app/dist/main.js"]
CMD ["start"]
