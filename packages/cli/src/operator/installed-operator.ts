import type { KubeObject } from "@bunting/kube";
import { objectNames } from "./operator-names.js";
import { permissionOptions } from "./gen/operator-permissions.js";

/** A Deployment of an operator, as far as it is checked. */
export interface InstalledOperator {
  readonly namespace: string;
  readonly name: string;
  /** Of the open-feature-operator. */
  readonly isStock: boolean;
  readonly image: string;
  readonly serviceAccount: string;
  readonly readyReplicas: number;
  /** The value of each option that decides what the operator needs. */
  readonly settings: ReadonlyMap<string, string>;
  /** Of the open-feature-operator: the image that it is told to run as its proxy. */
  readonly proxyImage?: string;
}

interface DeploymentParts {
  readonly spec?: {
    readonly template?: {
      readonly spec?: {
        readonly serviceAccountName?: string;
        readonly containers?: readonly Manager[];
      };
    };
  };
  readonly status?: { readonly readyReplicas?: number };
}

interface Manager {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

/** Undefined for a Deployment that is no operator. */
export function installedOperator(deployment: KubeObject): InstalledOperator | undefined {
  const { metadata } = deployment;
  const { spec, status } = deployment as DeploymentParts;
  const pod = spec?.template?.spec;
  const manager = pod?.containers?.find(({ name }) => name === "manager");
  if (manager === undefined) return undefined;
  const isOurs = metadata.labels?.["app.kubernetes.io/part-of"] === "bunting";
  if (!isOurs && metadata.name !== objectNames.stockOperator) return undefined;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    isStock: !isOurs,
    image: manager.image ?? "",
    serviceAccount: pod?.serviceAccountName ?? "default",
    readyReplicas: status?.readyReplicas ?? 0,
    settings: settingsOf(manager),
    ...(isOurs ? {} : proxyImageOf(manager)),
  };
}

function proxyImageOf({ env = [] }: Manager): Pick<InstalledOperator, "proxyImage"> {
  const valueOf = (variable: string): string | undefined =>
    env.findLast(({ name }) => name === variable)?.value;
  const [image, tag] = [valueOf("FLAGD_PROXY_IMAGE"), valueOf("FLAGD_PROXY_TAG")];
  return image === undefined || tag === undefined ? {} : { proxyImage: `${image}:${tag}` };
}

/** The only namespaces that it serves; undefined: all. */
export function servedBy({ settings }: Pick<InstalledOperator, "settings">): readonly string[] | undefined {
  const none = permissionOptions["watch-namespaces"].default;
  const text = settings.get("watch-namespaces") ?? none;
  const names = text === none ? [] : text.split(/[,\s]+/).filter((name) => name !== "");
  return names.length === 0 ? undefined : names;
}

/** As the operator reads them: an argument, else a variable, else the default. */
function settingsOf({ args = [], env = [] }: Manager): ReadonlyMap<string, string> {
  const entries = Object.entries(permissionOptions).map(([option, { env: variables, default: usual }]) => {
    const flag = `--${option}`;
    const index = args.findLastIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
    const arg = args[index];
    if (arg !== undefined) return [option, valueIn(arg, args[index + 1], usual)] as const;
    const given = env.findLast(({ name }) => (variables as readonly string[]).includes(name));
    return [option, given?.value ?? usual] as const;
  });
  return new Map(entries);
}

/** `--flag=value`, `--flag value`, or a switch. */
function valueIn(arg: string, next: string | undefined, usual: string): string {
  const equals = arg.indexOf("=");
  if (equals >= 0) return arg.slice(equals + 1);
  const isSwitch = ["true", "false"].includes(usual) && !["true", "false"].includes(next ?? "");
  return isSwitch ? "true" : (next ?? usual);
}
