import { readFileSync } from "node:fs";
import { mapPodTexts, serveExtension } from "@bunting/extension";

// Pods get what the log shipper of their node reads. Deployments of proxies and Flagds also get a shipper of their own, where SHIPPER names a file with its container.
const file = process.env.SHIPPER;
const shipper = file === undefined ? undefined : JSON.parse(readFileSync(file, "utf8"));

function annotated(object, { parser = "json", exclude = false } = {}) {
  const texts = exclude ? { "fluentbit.io/exclude": "true" } : { "fluentbit.io/parser": parser };
  return mapPodTexts(object, "annotations", (annotations) => ({ ...texts, ...annotations }));
}

function withShipper(object) {
  const pod = object.spec?.template?.spec;
  const isThere = pod?.containers?.some(({ name }) => name === shipper?.name);
  if (shipper === undefined || object.kind !== "Deployment" || isThere) return object;
  // At the end: the Extension lists further containers as mutates, and none that is there.
  const containers = [...pod.containers, shipper];
  const template = { ...object.spec.template, spec: { ...pod, containers } };
  return { ...object, spec: { ...object.spec, template } };
}

const { url } = await serveExtension({
  preCreate: ({ object, configuration }) => withShipper(annotated(object, configuration)),
});
console.log(`log-shipper at ${url}`);
