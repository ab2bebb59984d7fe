import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { CheckPhase } from "./check.js";
import { servedBy } from "../operator/installed-operator.js";
import { foundOr } from "./not-checked-error.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { AdmissionFacts, WebhookFacts } from "./judge/judge-admission.js";
import { refusedCertificate, type WebhookClient } from "./probe-authority.js";

const group = "admissionregistration.k8s.io";

/** Reads which policies and webhooks give Pods their sidecars in a cluster. */
export async function readAdmission(survey: ClusterSurvey, phase: CheckPhase): Promise<AdmissionFacts> {
  const { reader } = survey;
  const version = await survey.servesAny(group, ["v1", "v1beta1"], "mutatingadmissionpolicies");
  const namesOf = async (plural: string): Promise<readonly string[]> => {
    if (version === undefined || phase === "pre") return [];
    const answer = await reader.collect({ type: { group, version, plural } }, (object) => {
      const { policyName = object.metadata.name } = (object["spec"] ?? {}) as {
        readonly policyName?: string;
      };
      return policyName;
    });
    return foundOr(answer, plural, []).filter((name) => name.startsWith(objectNames.policy));
  };
  const [policies, bound, webhooks] = await Promise.all([
    namesOf("mutatingadmissionpolicies"),
    namesOf("mutatingadmissionpolicybindings"),
    phase === "pre" ? [] : readWebhooks(survey),
  ]);
  const operatedBy = phase === "pre" ? "bunting" : await survey.operatedBy();
  return {
    phase,
    operatedBy,
    servesPolicies: version !== undefined,
    policies,
    bound: new Set(bound),
    webhooks,
  };
}

/** The webhooks of all operators of ours, or those of another one. */
async function readWebhooks(survey: ClusterSurvey): Promise<AdmissionFacts["webhooks"]> {
  const ours = (await survey.operators()).filter(({ isStock }) => !isStock);
  const stock = [objectNames.mutatingWebhook, objectNames.validatingWebhook] as const;
  const names = ours.map((each) => {
    const own = `${objectNames.ownWebhooks}${each.namespace}`;
    return servedBy(each) === undefined ? stock : ([own, own] as const);
  });
  const all = names.length === 0 ? [stock] : names;
  const [mutating, validating] = [0, 1].map((index) => [...new Set(all.map((pair) => pair[index] ?? ""))]);
  const found = await Promise.all([
    ...(mutating ?? []).map((name) => readWebhook(survey, "MutatingWebhookConfiguration", name)),
    ...(validating ?? []).map((name) => readWebhook(survey, "ValidatingWebhookConfiguration", name)),
  ]);
  return found.filter((each) => each !== undefined);
}

const typeOf = {
  MutatingWebhookConfiguration: clusterTypes.mutatingWebhook,
  ValidatingWebhookConfiguration: clusterTypes.validatingWebhook,
} as const;

async function readWebhook(
  { reader }: ClusterSurvey,
  kind: WebhookFacts["kind"],
  name: string,
): Promise<WebhookFacts | undefined> {
  const answer = await reader.find({ type: typeOf[kind], name });
  const object = foundOr(answer, `${kind} ${name}`, undefined);
  if (object === undefined) return undefined;
  const { webhooks = [] } = object as {
    readonly webhooks?: readonly { readonly clientConfig?: WebhookClient }[];
  };
  const clients = webhooks.map(({ clientConfig = {} }) => clientConfig);
  if (clients.some(({ caBundle = "" }) => caBundle === "")) return { kind, name, hasAuthority: false };
  // All of a configuration lead to one Service, and have one bundle unless somebody has changed a single one.
  const distinct = new Map(clients.map((client) => [client.caBundle, client]));
  const refusals = await Promise.all(
    Array.from(distinct.values(), (client) => refusedCertificate(client, reader)),
  );
  return { kind, name, hasAuthority: true, refused: refusals.find((each) => each !== undefined) };
}
