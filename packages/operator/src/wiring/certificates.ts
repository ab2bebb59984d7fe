import path from "node:path";
import type { CertificateWay, ServingCertificates } from "../certificates/serving-certificates.js";
import { OperatorError } from "../operator-error.js";
import type { OperatorOptions } from "../options.js";
import type { OperatorWiring } from "./operator-wiring.js";

/**
 * The certificate of the webhooks.
 *
 * @throws OperatorError OPTION_INVALID if the options name no files where they have to.
 */
export function certificatesOf(wiring: OperatorWiring): ServingCertificates {
  const { options, parts, context, cluster, watches } = wiring;
  const { client } = cluster;
  return parts.servingCertificates(certificateWay(options), {
    client,
    watches,
    namespace: options.namespace,
    context,
  });
}

function certificateWay(options: OperatorOptions): CertificateWay {
  const { certificates, namespace, webhookService, webhookCertPath: directory } = options;
  if (certificates === "own") {
    const service = `${webhookService}.${namespace}.svc`;
    return { kind: "own", dnsNames: [service, `${webhookService}.${namespace}`] };
  }
  if (directory === "")
    throw new OperatorError(
      "OPTION_INVALID",
      `--certificates=${certificates} reads a certificate from files: name their directory with --webhook-cert-path`,
    );
  const certPath = path.join(directory, options.webhookCertName);
  const keyPath = path.join(directory, options.webhookCertKey);
  const isOurs = certificates === "files" && options.webhookCaName !== "";
  return {
    kind: "files",
    certPath,
    keyPath,
    ...(isOurs ? { caPath: path.join(directory, options.webhookCaName) } : {}),
  };
}
