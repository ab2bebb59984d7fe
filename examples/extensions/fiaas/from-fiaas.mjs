import { createServer } from "node:http";
import { askExtension } from "@bunting/extension";

// The other way round: FiaaS asks this program as its --extension-hook-url, and gets what the extension at EXTENSION_URL answers. That gets the part of
// fiaas.yml that FiaaS has for extensions: extensions.NAME, where NAME is EXTENSION_NAME.
const { EXTENSION_URL: extension, EXTENSION_NAME: name = "", PORT: port = "8080" } = process.env;
if (extension === undefined) throw new Error("EXTENSION_URL is not set: write http://localhost:8081");
/** FiaaS sends objects without it. */
const apiVersions = {
  Deployment: "apps/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  Ingress: "networking.k8s.io/v1",
  PodDisruptionBudget: "policy/v1",
  Service: "v1",
};

async function answerTo(kind, { object, application }) {
  const { namespace = "default" } = object.metadata;
  const answer = await askExtension(extension, {
    uid: crypto.randomUUID(),
    hook: "pre-create",
    target: "Flagd",
    operation: "UPDATE",
    dryRun: false,
    namespace: { name: namespace, labels: {}, annotations: {} },
    object: { apiVersion: apiVersions[kind], kind, ...object },
    configuration: application?.extensions?.[name],
  });
  if (answer.kind === "replaced") return { status: 200, body: JSON.stringify(answer.object) };
  if (answer.kind === "unchanged") return { status: 404, body: "" };
  return { status: answer.kind === "refused" ? 400 : 500, body: answer.reason };
}

const server = createServer((request, response) => {
  const [, kind = ""] = /^\/fiaas\/deploy\/(\w+)$/.exec(request.url) ?? [];
  const isKnown = request.method === "POST" && Object.hasOwn(apiVersions, kind);
  if (!isKnown) return void response.writeHead(404).end();
  request
    .toArray()
    .then((chunks) => answerTo(kind, JSON.parse(Buffer.concat(chunks).toString())))
    .catch((error) => ({ status: 500, body: error.message }))
    .then(({ status, body }) => response.writeHead(status).end(body));
});
server.listen(Number(port), () => console.log(`from-fiaas at http://localhost:${server.address().port}`));
process.once("SIGTERM", () => server.close());
