import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { ProxyImageFacts } from "./judge/judge-proxy-images.js";
import { foundOr } from "./not-checked-error.js";

/** The proxies that the open-feature-operator has made, with the images that they have and that it names. */
export async function readProxyImages(survey: ClusterSurvey): Promise<readonly ProxyImageFacts[]> {
  const read = (await survey.operators()).map(async ({ namespace, proxyImage }) => {
    if (proxyImage === undefined) return [];
    const name = objectNames.proxy;
    const answer = await survey.reader.find({ type: clusterTypes.deployment, namespace, name });
    const deployment = foundOr(answer, `Deployment ${namespace}/${name}`, undefined);
    const { containers = [] } = (deployment?.["spec"] as ProxySpec | undefined)?.template?.spec ?? {};
    const present = containers.find((one) => one.name === name)?.image;
    return present === undefined ? [] : [{ namespace, named: proxyImage, present }];
  });
  return (await Promise.all(read)).flat();
}

interface ProxySpec {
  readonly template?: {
    readonly spec?: { readonly containers?: readonly { readonly name: string; readonly image?: string }[] };
  };
}
