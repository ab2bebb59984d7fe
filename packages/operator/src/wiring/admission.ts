import { RateLimitedLog, type Component } from "@bunting/runtime";
import type { Webhook } from "../admission/admission-handler.js";
import type { AdmissionServer } from "../admission/admission-server.js";
import type { EntryLookup } from "../admission/entry-lookup.js";
import { featureFlagSourceWebhook } from "../admission/validate-feature-flag-source.js";
import { webhookPaths } from "../api/webhooks.js";
import type { ServingCertificates } from "../certificates/serving-certificates.js";
import { OperatorError } from "../operator-error.js";
import { sourceReader } from "../settings.js";
import type { Extensions } from "./extensions.js";
import type { OperatorWiring } from "./operator-wiring.js";
import type { WebhookCalls } from "./webhook-calls.js";

export interface AdmissionParts {
  readonly certificates: ServingCertificates;
  readonly calls: Pick<WebhookCalls, "keys">;
  readonly lookup: EntryLookup;
  /** The annotation `bunting.dev/validation` of a namespace. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  readonly extensions: Pick<Extensions, "comments">;
}

/** What the API server stores in one object. */
export const maxDocumentBytes = 1.5 * 1024 * 1024;

export interface AdmissionPort {
  readonly component: Component;
  /** True once there is a certificate to serve with. */
  readonly hasCertificate: () => boolean;
}

/** The port of the webhooks, on every replica. */
export function admissionPort(
  wiring: OperatorWiring,
  { certificates, calls, lookup, levelOfNamespace, extensions }: AdmissionParts,
): AdmissionPort {
  const { options, parts, context } = wiring;
  const { clock, logger, metrics } = context;
  const { missingSource } = options;
  const { comments } = extensions;
  const pods = (isRequired: boolean): Webhook =>
    parts.podWebhook({ lookup, isRequired, missingSource, metrics });
  const flags = parts.featureFlagWebhook({ maxDocumentBytes, levelOfNamespace, clock, comments });
  const webhooks = new Map([
    [webhookPaths.pod, pods(false)],
    [webhookPaths.requiredPod, pods(true)],
    ...(options.inlineFlags
      ? [
          [
            webhookPaths.workload,
            parts.workloadWebhook({ maxDocumentBytes, levelOfNamespace, clock }),
          ] as const,
        ]
      : []),
    ...(options.flagsValidation
      ? ([
          [webhookPaths.featureFlag, flags],
          [webhookPaths.featureFlagSource, featureFlagSourceWebhook(sourceReader(options))],
        ] as const)
      : []),
  ]);
  const handler = new parts.AdmissionHandler({
    webhooks,
    keys: () => calls.keys.lastItems.map(({ key }) => key),
    context,
    log: new RateLimitedLog(logger, clock),
  });
  const endpoint = { port: options.webhookPort };
  const server = new parts.AdmissionServer({ endpoint, certificate: certificates.source, handler, context });
  let hasCertificate = false;
  certificates.source.onPair(() => {
    hasCertificate = true;
  });
  return { component: serverComponent(server, wiring), hasCertificate: () => hasCertificate };
}

function serverComponent(server: AdmissionServer, { context }: OperatorWiring): Component {
  const abort = new AbortController();
  let running = Promise.resolve();
  return {
    name: server.name,
    reason:
      "opens when all that it looks up can be there, and stays open until API servers have heard that this replica goes",
    start: async (fail) => {
      await server.listen().catch((cause: unknown) => {
        throw new OperatorError("PORT_UNUSABLE", (cause as Error).message, { cause });
      });
      context.logger.info({ service: "webhook", port: server.port }, "listening");
      running = server.run(abort.signal).catch(fail);
    },
    stop: () => {
      abort.abort();
      return running;
    },
  };
}
