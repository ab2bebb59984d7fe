import { X509Certificate } from "node:crypto";
import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { ClusterSurvey } from "./cluster-survey.js";
import type { CertificateFacts, SecuredPodsFacts } from "./judge/judge-security.js";
import { foundOr } from "./not-checked-error.js";
import { dataOf } from "./proxy-security.js";

const beginOfCertificate = "-----BEGIN CERTIFICATE-----";

/** The certificates that end, where the operator makes some. */
export async function readCertificates(survey: ClusterSurvey): Promise<readonly CertificateFacts[]> {
  const security = await survey.security();
  if (security?.stored === undefined) return [];
  const { namespace } = security;
  const name = objectNames.proxyCertificate;
  const where = `Secret ${namespace}/${name}`;
  const secret = await survey.reader.find({ type: clusterTypes.secret, namespace, name });
  const { "tls.crt": encoded } = dataOf(foundOr(secret, where, undefined));
  const leaf = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const ofLeaf = certificatesIn(leaf)
    .slice(0, 1)
    .map((one) => ({ where, endsMs: endOf(one) }));
  return [...ofLeaf, ...authorityEnds(await survey.authorities())];
}

/** Namespaces with the same authority are one. */
function authorityEnds(authorities: ReadonlyMap<string, string>): readonly CertificateFacts[] {
  const namespaces = new Map<number, string[]>();
  for (const [namespace, pem] of authorities) {
    // There may be an older one beside it.
    const endsMs = Math.max(...certificatesIn(pem).map(endOf));
    if (Number.isFinite(endsMs)) namespaces.set(endsMs, [...(namespaces.get(endsMs) ?? []), namespace]);
  }
  return Array.from(namespaces, ([endsMs, [first = "", ...more]]) => {
    const others = more.length === 0 ? "" : ` and ${more.length} more`;
    return { where: `ConfigMap ${first}/${objectNames.proxyAuthority}${others}`, endsMs };
  });
}

/** The Pods that ask the proxy, beside what it serves. */
export async function readSecuredPods(survey: ClusterSurvey): Promise<SecuredPodsFacts> {
  const security = await survey.security();
  if (security?.stored === undefined) return { state: "off", plain: [], secured: [], unverified: [] };
  const { askers } = await survey.pods();
  const authorities = await survey.authorities();
  const verifying = new Set(askers.secured.map(({ namespace }) => namespace));
  return {
    state: security.stored.state,
    ...askers,
    unverified: [...verifying].filter(
      (namespace) => certificatesIn(authorities.get(namespace) ?? "").length === 0,
    ),
  };
}

function certificatesIn(pem: string): readonly X509Certificate[] {
  return pem
    .split(beginOfCertificate)
    .slice(1)
    .flatMap((rest) => {
      try {
        return [new X509Certificate(beginOfCertificate + rest)];
      } catch {
        // Whoever verifies by it finds nothing there either.
        return [];
      }
    });
}

function endOf({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
}
