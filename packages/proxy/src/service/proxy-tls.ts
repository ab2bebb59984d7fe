import { ClientAuthorities, TlsCertificate, TlsTermination, type TlsMetrics } from "@bunting/server";
import type { Component, Logger, OptionsOf } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import type { tlsOptionTable } from "../tls-options.js";

export type TlsOptions = OptionsOf<typeof tlsOptionTable>;

/** After an outage all clients come back at once, and many of them on nodes that are busy: they are slow to answer. */
const maxHandshakes = 1_024;
const crowdedTimeoutMs = 4_000;

/** TLS of the ports; undefined where there is none. */
export interface ProxyTls {
  readonly sync: TlsTermination | undefined;
  readonly management: TlsTermination | undefined;
  readonly components: readonly Component[];
}

/**
 * TLS of both ports, as far as it is asked for.
 *
 * @throws ProxyError OPTION_INVALID if the options contradict each other
 */
export function proxyTls(options: TlsOptions, logger: Logger, metrics: TlsMetrics): ProxyTls {
  refuseContradictions(options);
  const { tls, tlsClientAuth, managementTls } = options;
  if (tls === "off" && managementTls === "off")
    return { sync: undefined, management: undefined, components: [] };
  const certificate = new TlsCertificate({
    certPath: options.tlsCertPath,
    keyPath: options.tlsKeyPath,
    certOption: "--tls-cert-path",
    keyOption: "--tls-key-path",
    logger,
    onReload: (isUsed) => metrics.reload("certificate", isUsed ? "used" : "refused"),
  });
  certificate.onPair(({ validToMs }) => metrics.validTo("certificate", validToMs));
  const authorities =
    tlsClientAuth === "off"
      ? undefined
      : new ClientAuthorities({
          caPath: options.tlsClientCaPath,
          caOption: "--tls-client-ca-path",
          logger,
          onReload: (isUsed) => metrics.reload("client_ca", isUsed ? "used" : "refused"),
        });
  authorities?.onChange(({ validToMs }) => metrics.validTo("client_ca", validToMs));
  const terminate = (mode: TlsOptions["tls"], isRequired: boolean): TlsTermination | undefined =>
    mode === "off"
      ? undefined
      : new TlsTermination({
          certificate,
          clients: authorities === undefined ? undefined : { authorities, isRequired },
          allowsPlaintext: mode === "both",
          maxHandshakes,
          times: { crowdedTimeoutMs },
          onHandshake: (result) => metrics.handshake(result),
        });
  return {
    sync: terminate(tls, tlsClientAuth === "require"),
    // Probes of kubelet present no certificate.
    management: terminate(managementTls, false),
    components: [certificate, ...(authorities === undefined ? [] : [authorities])].map(component),
  };
}

function component(files: TlsCertificate | ClientAuthorities): Component {
  return {
    name: "tls",
    reason: "first: a proxy that can't have the TLS it was asked for must not serve",
    start: async () => {
      await files.start().catch((cause: unknown) => {
        throw ProxyError.optionInvalid((cause as Error).message, { cause });
      });
    },
    stop: () => files.stop(),
  };
}

function refuseContradictions(options: TlsOptions): void {
  const { tls, managementTls, tlsCertPath, tlsKeyPath, tlsClientCaPath, tlsClientAuth } = options;
  const isOff = tls === "off" && managementTls === "off";
  const files = { "--tls-cert-path": tlsCertPath, "--tls-key-path": tlsKeyPath };
  const clients = {
    "--tls-client-ca-path": tlsClientCaPath,
    "--tls-client-auth": tlsClientAuth === "off" ? "" : tlsClientAuth,
  };
  const given = namesOf({ ...files, ...clients }, (value) => value !== "");
  if (isOff && given.length > 0)
    throw ProxyError.optionInvalid(
      `${given.join(" and ")} would have no effect, because TLS is off: set --tls=on, or --tls=both while some clients still speak plaintext`,
    );
  const missing = namesOf(files, (value) => value === "");
  if (!isOff && missing.length > 0)
    throw ProxyError.optionInvalid(
      `TLS needs a certificate and its private key: set ${missing.join(" and ")}`,
    );
  const [one, ...more] = namesOf(clients, (value) => value !== "");
  if (one !== undefined && more.length === 0) {
    const other = namesOf(clients, (value) => value === "");
    throw ProxyError.optionInvalid(`${one} has no effect alone: set ${other.join(" and ")} too`);
  }
}

function namesOf(
  options: Readonly<Record<string, string>>,
  isMeant: (value: string) => boolean,
): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) => (isMeant(value) ? [name] : []));
}
