import { mapPodTexts, refuse, serveExtension } from "@bunting/extension";

// Metrics are collected of those who ask for it: extensions.bunting.dev/optional-metrics: '{"scrape": true}' on a source or its namespace.
const ports = { Sidecar: 8014, Proxy: 8016, Flagd: 8014 };

function preCreate({ object, target, configuration = {} }) {
  const { scrape = false, port = ports[target] } = configuration;
  if (typeof scrape !== "boolean") refuse(`scrape is ${JSON.stringify(scrape)}: write true or false`);
  if (!Number.isInteger(port) || port < 1 || port > 65535)
    refuse(`port is ${JSON.stringify(port)}, which is none: leave it out, or write that of the metrics`);
  if (!scrape) return undefined;
  const texts = {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": String(port),
    "prometheus.io/path": "/metrics",
  };
  // An application that has its own keeps them.
  return mapPodTexts(object, "annotations", (annotations) => ({ ...texts, ...annotations }));
}

const { url } = await serveExtension({ preCreate });
console.log(`optional-metrics at ${url}`);
