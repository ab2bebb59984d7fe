import type { KubeObject } from "@bunting/kube";
import { quoted } from "@bunting/protocol";
import { stockMark } from "../operator-names.js";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";
import { carriedValues } from "./stock-settings.js";

/** Older ones write objects in other forms. */
const oldest = [0, 9, 0] as const;
const takeover = "deploy/helm/bunting-operator/values-takeover.yaml";

/** Findings about the open-feature-operator that runs, and the proxy that it made. */
export function checkInstallation({ operators, proxies }: MigrationFacts): readonly MigrationFinding[] {
  if (operators.length === 0)
    return [
      {
        severity: "tells",
        object: "open-feature-operator",
        message: "it is not installed: install the chart bunting-operator without values for a take-over",
      },
    ];
  const several: readonly MigrationFinding[] =
    operators.length === 1
      ? []
      : [
          {
            severity: "blocks",
            object: "open-feature-operator",
            message: `it is installed in several namespaces (${operators.map(namespaceOf).join(", ")}): leave one of them`,
          },
        ];
  const ofProxies = proxies.filter((each) => operators.some((one) => namespaceOf(one) === namespaceOf(each)));
  return [...several, ...operators.flatMap(checkOperator), ...ofProxies.flatMap(checkProxy)];
}

function checkOperator(deployment: KubeObject): readonly MigrationFinding[] {
  const { name, annotations = {}, labels = {} } = deployment.metadata;
  const namespace = namespaceOf(deployment);
  const object = `Deployment ${namespace}/${name}`;
  if (labels["app.kubernetes.io/part-of"] === "bunting")
    return [{ severity: "tells", object, message: "it was taken over: the way back is checked with --back" }];
  const release = annotations["meta.helm.sh/release-name"];
  // Not always that of the objects: a release in the namespace `default` has them in another one.
  const releaseNamespace = annotations["meta.helm.sh/release-namespace"] ?? namespace;
  const how =
    release === undefined
      ? `it was not installed by Helm: apply the same names as ${takeover} has, and keep the CustomResourceDefinitions`
      : `take it over: helm upgrade ${release} deploy/helm/bunting-operator --namespace ${releaseNamespace} --values ${takeover}, and your images with --set; unpack a packed chart, and name its folder (docs/operate/migrate.md#take-over)`;
  const values = carriedValues(deployment);
  const settings = `it runs with other settings than its chart's defaults: name them to the upgrade as well (${values.join(", ")})`;
  return [
    ...checkVersion(deployment, object),
    { severity: "tells", object, message: how },
    ...(values.length === 0 ? [] : [{ severity: "tells", object, message: settings } as const]),
  ];
}

function checkVersion(deployment: KubeObject, object: string): readonly MigrationFinding[] {
  const image = managerImage(deployment);
  const version = versionIn(image);
  if (version === undefined) {
    const message = `no version can be read from its image ${quoted(image)}: make sure that it is 0.9.0 or newer`;
    return [{ severity: "warns", object, message }];
  }
  const text = version.join(".");
  const index = version.findIndex((part, at) => part !== oldest[at]);
  const isOld = index >= 0 && (version[index] ?? 0) < (oldest[index] ?? 0);
  return isOld
    ? [{ severity: "blocks", object, message: `it is ${text}: upgrade it to 0.9.0 or newer first` }]
    : [{ severity: "tells", object, message: `it is ${text}` }];
}

/** The version in the tag of an image, with or without a digest behind it. */
export function versionIn(image: string): readonly number[] | undefined {
  const [, ...parts] = /:v?(\d+)\.(\d+)\.(\d+)(?:[-+@]|$)/.exec(image) ?? [];
  return parts.length === 0 ? undefined : parts.map(Number);
}

function managerImage({ spec }: KubeObject): string {
  const { template } = spec as {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
    };
  };
  const { containers } = template.spec;
  return (containers.find(({ name }) => name === "manager") ?? containers[0])?.image ?? "";
}

function checkProxy(proxy: KubeObject): readonly MigrationFinding[] {
  if (proxy.metadata.labels?.[stockMark.label] === stockMark.value) return [];
  const message = `it lacks the label ${stockMark.label}: ${stockMark.value}, so the operator would take it for somebody else's, and deploy no proxy: kubectl -n ${namespaceOf(proxy)} label deployment ${proxy.metadata.name} ${stockMark.label}=${stockMark.value}`;
  return [{ severity: "blocks", object: `Deployment ${namespaceOf(proxy)}/${proxy.metadata.name}`, message }];
}

function namespaceOf({ metadata }: KubeObject): string {
  return metadata.namespace ?? "";
}
