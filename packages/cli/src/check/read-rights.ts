import type { ClusterReader } from "../operator/cluster-reader.js";
import { clusterTypes, objectNames } from "../operator/operator-names.js";
import { foundOr, NotCheckedError } from "./not-checked-error.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import { operatorPermissions, permissionOptions } from "../operator/gen/operator-permissions.js";
import { servedBy, type InstalledOperator } from "../operator/installed-operator.js";
import type { AskedRight } from "./judge/judge-rights.js";

const rbac = "rbac.authorization.k8s.io";
const admission = "admissionregistration.k8s.io";
const reviews = "/apis/authorization.k8s.io/v1";

/** Verbs that Helm and kubectl apply use on each object. */
const installVerbs = ["get", "create", "patch"] as const;

interface NeededRight {
  readonly group: string;
  readonly resource: string;
  readonly names: readonly string[];
  readonly namespace?: string;
  readonly verbs: readonly string[];
  readonly why: string;
}

/** The user whose rights are asked about: a ServiceAccount; without `account`, the user of the command. */
interface Subject {
  readonly name: string;
  readonly account?: { readonly namespace: string; readonly name: string };
}

const you: Subject = { name: "you" };

/** Rights that the user needs to install the chart in this namespace, besides the rights that the chart grants. */
function installerRights(namespace: string, servesPolicies: boolean): readonly NeededRight[] {
  const made = { names: [], verbs: installVerbs, why: "the chart makes them" };
  const wide = (group: string, ...resources: readonly string[]): readonly NeededRight[] =>
    resources.map((resource) => ({ group, resource, ...made }));
  const own = (group: string, ...resources: readonly string[]): readonly NeededRight[] =>
    wide(group, ...resources).map((right) => ({ ...right, namespace }));
  const policies = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"];
  return [
    ...wide("apiextensions.k8s.io", "customresourcedefinitions"),
    ...wide("", "namespaces"),
    ...wide(rbac, "clusterroles", "clusterrolebindings"),
    ...wide(admission, "validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    ...wide(admission, "mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
    ...(servesPolicies ? wide(admission, ...policies) : []),
    ...own("", "serviceaccounts", "services", "secrets"),
    ...own("apps", "deployments"),
    ...own("policy", "poddisruptionbudgets"),
    ...own(rbac, "roles", "rolebindings"),
  ];
}

/** Rights that an operator with these settings needs; absent options have the chart's defaults. */
function operatorRights(namespace: string, settings: ReadonlyMap<string, string>): readonly NeededRight[] {
  const valueOf = (option: string): string =>
    option === "namespace"
      ? namespace
      : (settings.get(option) ?? permissionOptions[option as keyof typeof permissionOptions].default);
  const served = servedBy({ settings });
  return operatorPermissions.flatMap((permission): readonly NeededRight[] => {
    const { scope, apiGroup: group, resources, verbs, why } = permission;
    const serving = "serving" in permission ? permission.serving : undefined;
    if (serving !== undefined && (serving === "all") !== (served === undefined)) return [];
    const onlyIf: { readonly option: string; readonly is: readonly string[] } | undefined =
      "onlyIf" in permission ? permission.onlyIf : undefined;
    if (onlyIf !== undefined && !onlyIf.is.includes(valueOf(onlyIf.option))) return [];
    const names = "names" in permission ? permission.names : [];
    const named = names.map((name) => name.replace(/\{([\w-]+)\}/g, (_, option: string) => valueOf(option)));
    const places: readonly Pick<NeededRight, "namespace">[] =
      scope === "namespace" ? [{ namespace }] : scope === "served" ? placesOf(served) : [{}];
    return places.flatMap((at) =>
      resources.map((resource) => ({ group, resource, names: named, verbs, why, ...at })),
    );
  });
}

/** Where rights are needed: in each served namespace, or without a list in the whole cluster. */
function placesOf(served: readonly string[] | undefined): readonly Pick<NeededRight, "namespace">[] {
  return served?.map((namespace) => ({ namespace })) ?? [{}];
}

function proxyRights(served: readonly string[] | undefined): readonly NeededRight[] {
  return placesOf(served).map((at) => ({
    group: "core.openfeature.dev",
    resource: "featureflags",
    names: [],
    verbs: ["get", "list", "watch"],
    why: "serves them",
    ...at,
  }));
}

/** Asks for the rights that the user of the command needs to install. A user without the verb escalate may grant only rights that he has. */
export async function readInstallerRights(survey: ClusterSurvey): Promise<readonly AskedRight[]> {
  const { namespace } = survey.options;
  const serves = await survey.servesAny(admission, ["v1", "v1beta1"], "mutatingadmissionpolicies");
  const own = await ask(survey.reader, you, installerRights(namespace, serves !== undefined));
  const escalate = { group: rbac, resource: "clusterroles", names: [], verbs: ["escalate"], why: "" };
  const [escalation] = await ask(survey.reader, you, [escalate]);
  if (escalation?.lacking.length === 0) return own;
  const granted = [...operatorRights(namespace, new Map()), ...proxyRights(undefined)];
  const held = await ask(survey.reader, you, granted);
  return [
    ...own,
    ...held.map((right) => ({
      ...right,
      why: `the operator needs it, and nobody may grant what he may not do himself: ${right.why}`,
    })),
  ];
}

/** Asks for the rights that the ServiceAccounts of our operators, and of the proxies that they have deployed, need. */
export async function readServiceRights(survey: ClusterSurvey): Promise<readonly AskedRight[]> {
  const operators = (await survey.operators()).filter(({ isStock }) => !isStock);
  const asked = await Promise.all(operators.map((operator) => rightsOfOperator(survey, operator)));
  return asked.flat();
}

async function rightsOfOperator(
  { reader }: ClusterSurvey,
  { namespace, serviceAccount, settings }: InstalledOperator,
): Promise<readonly AskedRight[]> {
  const operator = await ask(
    reader,
    accountOf(namespace, serviceAccount),
    operatorRights(namespace, settings),
  );
  return [...operator, ...(await rightsOfProxy(reader, { namespace, settings }))];
}

/** Asks for the rights that the ServiceAccount of each operator's proxy needs. Called where the open-feature-operator runs, and ours does not. */
export async function readProxyRights(survey: ClusterSurvey): Promise<readonly AskedRight[]> {
  const operators = await survey.operators();
  const asked = operators.map((operator) => rightsOfProxy(survey.reader, operator));
  return (await Promise.all(asked)).flat();
}

async function rightsOfProxy(
  reader: ClusterReader,
  { namespace, settings }: Pick<InstalledOperator, "namespace" | "settings">,
): Promise<readonly AskedRight[]> {
  const answer = await reader.find({ type: clusterTypes.deployment, namespace, name: objectNames.proxy });
  const deployment = foundOr(answer, `Deployment ${namespace}/${objectNames.proxy}`, undefined);
  if (deployment === undefined) return [];
  const { template } = deployment["spec"] as {
    readonly template: { readonly spec: { readonly serviceAccountName?: string } };
  };
  const account = accountOf(namespace, template.spec.serviceAccountName ?? "default");
  return ask(reader, account, proxyRights(servedBy({ settings })));
}

function accountOf(namespace: string, name: string): Subject {
  return { name: `ServiceAccount ${namespace}/${name}`, account: { namespace, name } };
}

/** Asks the API server for each verb of each right, and lists the verbs that the subject lacks. */
function ask(
  reader: ClusterReader,
  subject: Subject,
  rights: readonly NeededRight[],
): Promise<readonly AskedRight[]> {
  return Promise.all(
    rights.map(async ({ group, resource, names, namespace, verbs, why }) => {
      const [plural = "", subresource] = resource.split("/");
      const attributes = { group, resource: plural, subresource, namespace };
      const questions = verbs.flatMap((verb) =>
        (names.length === 0 ? [undefined] : names).map((name) => ({ verb, ...attributes, name })),
      );
      const answers = await Promise.all(questions.map((one) => isAllowed(reader, subject, one)));
      const lacking = new Set(
        questions.filter((_, index) => answers[index] === false).map(({ verb }) => verb),
      );
      const written = group === "" ? resource : `${resource}.${group}`;
      const at = namespace === undefined ? {} : { namespace };
      return { subject: subject.name, resource: written, lacking: [...lacking], why, ...at };
    }),
  );
}

async function isAllowed(
  reader: ClusterReader,
  { account, name }: Subject,
  question: object,
): Promise<boolean> {
  const kind = account === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const user =
    account === undefined
      ? {}
      : {
          user: `system:serviceaccount:${account.namespace}:${account.name}`,
          groups: [
            "system:serviceaccounts",
            `system:serviceaccounts:${account.namespace}`,
            "system:authenticated",
          ],
        };
  const answer = await reader.review(`${reviews}/${kind.toLowerCase()}s`, {
    apiVersion: "authorization.k8s.io/v1",
    kind,
    spec: { resourceAttributes: question, ...user },
  });
  if (answer.kind === "unreadable") throw new NotCheckedError(`rights of ${name}`, answer.message);
  const { status } = (answer.kind === "found" ? answer.found : {}) as { status?: { allowed?: unknown } };
  return status?.allowed === true;
}
