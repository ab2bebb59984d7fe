import { TlsCertificate, TlsTermination } from "@bunting/server";
import type { Component, Logger } from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import { endpoints } from "../endpoints.js";
import type { AgentOptions } from "../options.js";

const certOption = "--server-cert-path";
const keyOption = "--server-key-path";

export interface ServerTls {
  readonly termination: TlsTermination | undefined;
  /** None without TLS. */
  readonly components: readonly Component[];
}

/**
 * TLS of the evaluation and sync ports, if it is asked for.
 *
 * @throws AgentError OPTION_INVALID if only one of the two files is named.
 */
export function serverTls(options: AgentOptions, logger: Logger): ServerTls {
  const { serverCertPath: certPath, serverKeyPath: keyPath } = options;
  if (certPath === "" && keyPath === "") return { termination: undefined, components: [] };
  if (certPath === "" || keyPath === "") {
    const [given, missing] = keyPath === "" ? [certOption, keyOption] : [keyOption, certOption];
    throw AgentError.optionInvalid(
      `TLS needs a certificate and its private key, and only ${given} is set: set ${missing} too, or neither`,
    );
  }
  const { evaluationEndpoint, syncEndpoint } = endpoints(options);
  if ([evaluationEndpoint, syncEndpoint].every(({ endpoint }) => "socketPath" in endpoint))
    logger.warn(`${certOption} has no effect: both services listen on unix sockets, which have no TLS`);
  const certificate = new TlsCertificate({ certPath, keyPath, certOption, keyOption, logger });
  return {
    termination: new TlsTermination({ certificate }),
    components: [
      {
        name: "tls",
        reason: "first: an agent that can't have the TLS it was asked for must not serve",
        start: async () => {
          await certificate.start().catch((cause: unknown) => {
            throw AgentError.optionInvalid((cause as Error).message, { cause });
          });
        },
        stop: () => certificate.stop(),
      },
    ],
  };
}
