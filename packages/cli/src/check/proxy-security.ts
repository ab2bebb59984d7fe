import type { KubeObject } from "@bunting/kube";
import type { ClusterReader } from "../operator/cluster-reader.js";
import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { InstalledOperator } from "../operator/installed-operator.js";
import type { SecurityFacts, ServedAccess } from "./judge/judge-security.js";
import { foundOr } from "./not-checked-error.js";

/** How far the security of the proxy is that this operator deploys. */
export async function readProxySecurity(
  { namespace, settings }: InstalledOperator,
  reader: ClusterReader,
): Promise<SecurityFacts> {
  const [configMap, deployment] = await Promise.all([
    reader.find({ type: clusterTypes.configMap, namespace, name: objectNames.proxySecurity }),
    reader.find({ type: clusterTypes.deployment, namespace, name: objectNames.proxy }),
  ]);
  const found = foundOr(configMap, `ConfigMap ${namespace}/${objectNames.proxySecurity}`, undefined);
  const proxy = foundOr(deployment, `Deployment ${namespace}/${objectNames.proxy}`, undefined);
  const { state = "", waitsFor = "" } = dataOf(found);
  return {
    namespace,
    target: settings.get("proxy-security") ?? "off",
    stored: found === undefined ? undefined : { state, waitsFor },
    served: proxy === undefined ? undefined : servedBy(proxy),
  };
}

/** By namespace: what its sidecars verify the proxy by. */
export async function readAuthorities(reader: ClusterReader): Promise<ReadonlyMap<string, string>> {
  const scope = { type: clusterTypes.configMap, name: objectNames.proxyAuthority };
  const answer = await reader.collect(scope, (object) => {
    const { "ca.crt": pem = "" } = dataOf(object);
    return [object.metadata.namespace ?? "", pem] as const;
  });
  return new Map(foundOr(answer, `ConfigMaps ${objectNames.proxyAuthority}`, []));
}

/** As the options of its Pods have it: annotations say what anybody likes. */
function servedBy(deployment: KubeObject): ServedAccess | "otherwise" {
  const { spec } = deployment as {
    readonly spec?: {
      readonly template?: {
        readonly spec?: { readonly containers?: readonly { readonly args?: string[] }[] };
      };
    };
  };
  const args = spec?.template?.spec?.containers?.flatMap((container) => container.args ?? []) ?? [];
  const valueOf = (option: string): string =>
    args.findLast((arg) => arg.startsWith(`--${option}=`))?.slice(option.length + 3) ?? "";
  switch (`${valueOf("tls")} ${valueOf("auth")}`) {
    case " ":
      return "plain";
    case "both optional":
      return "both";
    case "on token":
      return "secured";
    default:
      return "otherwise";
  }
}

/** The data of a ConfigMap or a Secret. */
export function dataOf(object: KubeObject | undefined): Readonly<Record<string, string>> {
  return (object as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data ?? {};
}
