import {
  askExtension,
  configurationFor,
  isExtensionObject,
  stepsOf,
  type ExtensionAnswer,
  type ExtensionFinding,
  type ExtensionObject,
} from "@bunting/extension";
import { openFeatureApiVersion } from "@bunting/featureflags/resources";
import { readText } from "@bunting/files/text";
import { CliError } from "../cli-error.js";
import { objectAt, objectsIn } from "../input/objects-in.js";
import type { FileFinding } from "./file-finding.js";

/** Extensions by their names: of each, the address of its `lint` hook. */
export type ExtensionAddresses = Readonly<Record<string, string>>;

/** As long as the operator waits at most. */
const timeoutMs = 10_000;

/**
 * What extensions have to say of the FeatureFlags in a text, which their `lint` hooks get as an operator would send them. What only a cluster has, which is
 * the labels and annotations of namespaces, is empty.
 *
 * @throws CliError SERVER_UNREACHABLE if an extension does not answer: what it would find is not known
 */
export async function lintByExtensions(
  path: string,
  text: string,
  addresses: ExtensionAddresses,
  signal: AbortSignal,
): Promise<readonly Omit<FileFinding, "file">[]> {
  if (!text.includes("FeatureFlag")) return [];
  const read = await readText(path, Buffer.from(text));
  if (read.kind === "error") return [];
  const found: Omit<FileFinding, "file">[] = [];
  for (const document of read.documents) {
    for (const { at, value } of objectsIn(document.value)) {
      if (value["kind"] !== "FeatureFlag" || value["apiVersion"] !== openFeatureApiVersion) continue;
      // Without a name it is none, which is found by the reader of flags.
      if (!isExtensionObject(value)) continue;
      for (const [name, url] of Object.entries(addresses))
        for (const { field = "", severity, message } of await findingsOf(name, url, value, signal)) {
          const place = document.positionOf([...at, ...stepsOf(field)]);
          found.push({ ...place, severity, kind: "extension", message: `${name}: ${message}` });
        }
    }
  }
  return found;
}

async function findingsOf(
  name: string,
  url: string,
  object: ExtensionObject,
  signal: AbortSignal,
): Promise<readonly ExtensionFinding[]> {
  const { namespace: given } = object.metadata;
  const namespace = { name: typeof given === "string" ? given : "default", labels: {}, annotations: {} };
  const configured = configurationFor(name, objectAt(object, "metadata", "annotations") ?? {}, namespace);
  if ("problem" in configured)
    return [{ severity: "error", message: configured.problem, field: "/metadata" }];
  const answer = await askExtension(
    url,
    {
      uid: crypto.randomUUID(),
      hook: "lint",
      target: "FeatureFlag",
      operation: "CREATE",
      dryRun: true,
      namespace,
      object,
      ...configured,
    },
    { timeoutMs, signal },
  );
  return findingsIn(name, url, answer);
}

function findingsIn(name: string, url: string, answer: ExtensionAnswer): readonly ExtensionFinding[] {
  switch (answer.kind) {
    case "commented":
      return answer.findings;
    case "refused":
      return [{ severity: "error", message: answer.reason }];
    case "failed":
      throw new CliError(
        "SERVER_UNREACHABLE",
        `the extension ${name} at ${url} has failed: ${answer.reason}`,
      );
    default:
      return [];
  }
}
