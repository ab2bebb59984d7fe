import { X509Certificate } from "node:crypto";
import type { RestClient } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import { proxyTlsKeys, proxyTlsSecret } from "../desired/proxy-security/proxy-tls.js";
import { renewalShare, type Authority } from "./authority.js";
import type { CertificateMetrics } from "./certificate-metrics.js";
import { issueLeaf } from "./issue-certificate.js";
import { leafDueMs, nextLeaf, type Leaf } from "./leaf.js";
import { base64, type SecretContent, type SecretObject } from "./secret-content.js";
import { SecretKeeper } from "./secret-keeper.js";
import type { SecretWatch } from "./secret-watch.js";

export interface ProxyLeafKeeperOptions {
  readonly client: Pick<RestClient, "get" | "create" | "update">;
  /** The operator's namespace. */
  readonly namespace: string;
  readonly authorities: Pick<SecretWatch<Authority>, "items" | "onChange">;
  /** DNS names by which sidecars reach the proxy. */
  readonly dnsNames: readonly string[];
  readonly context: Context<Pick<CertificateMetrics, "notAfter" | "issued">>;
  /** Called when there is a certificate. */
  readonly onKept: () => void;
}

/** The proxy serves on with it for a month while no operator runs: a new one is due after two thirds. */
const lifeMs = 90 * 86_400_000;
/** The authority that has issued it: it is not sent to anybody. */
const issuerKey = "issuer.crt";

/** The Secret with the proxy's certificate. */
export const proxyLeafSecret: SecretContent<Leaf> = {
  name: proxyTlsSecret,
  what: "the proxy's certificate",
  read: readLeaf,
  dataOf: ([leaf]) => ({
    [proxyTlsKeys.cert]: base64(leaf?.cert ?? ""),
    [proxyTlsKeys.key]: base64(leaf?.key ?? ""),
    [issuerKey]: base64(leaf?.issuer ?? ""),
  }),
};

function readLeaf({ data = {} }: SecretObject): readonly Leaf[] {
  const textOf = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString("utf8");
  const [cert, key, issuer] = [textOf(proxyTlsKeys.cert), textOf(proxyTlsKeys.key), textOf(issuerKey)];
  if ([cert, key, issuer].includes("")) return [];
  const { validFrom, validTo } = new X509Certificate(cert);
  const [fromMs, validToMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return [{ cert, key, issuer, validToMs, renewMs: fromMs + (validToMs - fromMs) * renewalShare }];
}

function isFor(cert: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(cert);
  return names.every((name) => certificate.checkHost(name) !== undefined);
}

/** Makes the proxy's certificate, renews it, and stores it in the Secret that the proxy's Pods mount. Only the leader may run it. */
export function proxyLeafKeeper({
  client,
  namespace,
  authorities,
  dnsNames,
  context,
  onKept,
}: ProxyLeafKeeperOptions): SecretKeeper<Leaf> {
  const { clock, metrics } = context;
  const keeper = new SecretKeeper<Leaf>({
    client,
    namespace,
    context,
    content: proxyLeafSecret,
    rules: {
      next: (stored, known) => {
        // One for other names is of no use: the operator has been told of another domain of the cluster since.
        const held = (stored ?? known).find(({ cert }) => isFor(cert, dnsNames));
        const leaf = nextLeaf(
          authorities.items,
          held,
          clock.now(),
          (authority, validity) => {
            metrics.issued("proxy-leaf");
            return issueLeaf(authority, dnsNames, validity);
          },
          lifeMs,
        );
        if (leaf === undefined) return stored ?? [];
        return leaf === held && stored !== undefined ? stored : [leaf];
      },
      dueMs: ([leaf]) => leafDueMs(authorities.items, leaf, clock.now()),
      describe: ({ validToMs }) => ({ validTo: new Date(validToMs).toISOString() }),
      kept: ([leaf]) => {
        metrics.notAfter("proxy-leaf", leaf?.validToMs ?? 0);
        if (leaf !== undefined) onKept();
      },
    },
  });
  authorities.onChange(() => keeper.look());
  return keeper;
}
