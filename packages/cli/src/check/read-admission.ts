import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { CheckPhase } from "./check.js";
import { servedBy } from "../operator/installed-operator.js";
import { foundOr } from "./not-checked-error.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { AdmissionFacts } from "./judge/judge-admission.js";

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

/** The webhooks of all operators of ours, or that of another one. */
async function readWebhooks(survey: ClusterSurvey): Promise<AdmissionFacts["webhooks"]> {
  const ours = (await survey.operators()).filter(({ isStock }) => !isStock);
  const names = ours.map((each) =>
    servedBy(each) === undefined
      ? objectNames.mutatingWebhook
      : `${objectNames.ownWebhooks}${each.namespace}`,
  );
  const all = new Set(names.length === 0 ? [objectNames.mutatingWebhook] : names);
  const found = await Promise.all(Array.from(all, (name) => readWebhook(survey, name)));
  return found.filter((each) => each !== undefined);
}

async function readWebhook(
  { reader }: ClusterSurvey,
  name: string,
): Promise<AdmissionFacts["webhooks"][number] | undefined> {
  const answer = await reader.find({ type: clusterTypes.mutatingWebhook, name });
  const object = foundOr(answer, `MutatingWebhookConfiguration ${name}`, undefined);
  if (object === undefined) return undefined;
  const { webhooks = [] } = object as {
    readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[];
  };
  return { name, hasAuthority: webhooks.every(({ clientConfig }) => (clientConfig?.caBundle ?? "") !== "") };
}
