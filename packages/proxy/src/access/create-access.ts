import {
  accessPermission,
  AccessReviews,
  ReviewQueue,
  certificateAuthenticator,
  clusterKeys,
  fileKeys,
  KeySet,
  PathReviews,
  ownNamespace,
  PodAddresses,
  podListLimits,
  podPermission,
  TokenAuthenticator,
  tokenReviewPermission,
  TokenReviews,
  uriTemplate,
  type ReviewQueueLimits,
  type Authenticator,
  type Authorizer,
  type ReviewResult,
  type ReviewTimes,
} from "@bunting/identity";
import { KubeError, type ClusterChoice } from "@bunting/kube";
import type { Readers, TopicKey } from "@bunting/protocol";
import { givenFlags, type Clock, type OptionsOf, type Runnable, type ServingContext } from "@bunting/runtime";
import { accessOptionTable } from "../access-options.js";
import type { ProxyOptions } from "../options.js";
import { ProxyError } from "../proxy-error.js";
import { connectProxyCluster } from "../source/kubernetes/connect-cluster.js";
import { anonymousAccess, type Access } from "./access.js";
import type { ReviewKindName } from "./access-metrics.js";
import { CheckedAccess } from "./checked-access.js";
import type { CheckedAccessOptions } from "./checked-access-options.js";
import { ClusterConnection } from "./cluster-connection.js";
import type { Grant } from "./grants.js";
import { PageAccess } from "./page-access.js";
import { SharingAuthorizer } from "./sharing-authorizer.js";

type AccessOptions = OptionsOf<typeof accessOptionTable> & ClusterChoice;

export interface AccessParts {
  readonly context: ServingContext<CheckedAccessOptions["context"]["metrics"]>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The readers that a FeatureFlag is shared with, as far as the source knows. */
  readonly readersOf: (topic: TopicKey) => Readers | undefined | "unknown";
}

export interface CreatedAccess {
  readonly access: Access;
  /** Parts that have to run for it. */
  readonly runnables: readonly Runnable[];
  /** Subscriptions by identity; undefined if callers have none. */
  readonly grants: (() => Iterable<Grant>) | undefined;
  /** Access to the pages of the management port; undefined if callers have no identity. */
  readonly pages: PageAccess | undefined;
}

/**
 * Creates access control as the options demand.
 *
 * @throws ProxyError OPTION_INVALID if they don't go together
 */
export function createAccess(options: AccessOptions, parts: AccessParts): CreatedAccess {
  checkOptions(options);
  if (options.auth === "anonymous")
    return { access: anonymousAccess, runnables: [], grants: undefined, pages: undefined };
  const { context, env, readersOf } = parts;
  const runnables: Runnable[] = [];
  const connection = new ClusterConnection(() =>
    connectProxyCluster(options, { clock: context.clock, env }).catch((error: unknown) => {
      throw withoutCluster(options, error);
    }),
  );
  if (needsCluster(options)) runnables.push(connection);
  const reviewing: Reviewing = {
    client: connection,
    makeQueue: (permission, limits) => {
      const queue = new ReviewQueue({ ...limits, permission, clock: context.clock, logger: context.logger });
      runnables.push(queue);
      return queue;
    },
    clock: context.clock,
    times: { recheckTtlMs: options.authRecheck * 1.5 },
    observe: (kind) => (result, cachedAnswers) => {
      context.metrics.reviewed(kind, result);
      context.metrics.cachedReviews(kind, cachedAnswers);
    },
  };
  const authorizer = authorizerOf(options, reviewing);
  const certificates = certificateAuthenticator(certificateTemplate(options));
  const isByAddress = options.auth === "pod-ip";
  const access = new CheckedAccess({
    authenticators: isByAddress
      ? [certificates, podAddresses(options, reviewing)]
      : [tokenAuthenticator(options, parts, reviewing, runnables), certificates],
    wanted: `a projected ServiceAccount token with the audience ${options.authAudience} as "authorization: Bearer"`,
    allowsAnonymous: options.auth === "optional",
    authorizer: authorizer && new SharingAuthorizer({ authorizer, readersOf, clock: context.clock }),
    context,
    recheckMs: options.authRecheck,
  });
  const pages = new PageAccess({
    callers: access,
    reviews: pageReviews(options, reviewing),
    context,
    recheckMs: options.authRecheck,
  });
  return { access, runnables: [...runnables, access], grants: () => access.grants, pages };
}

/** True if the readers that FeatureFlags name are needed. */
export function readsReaders({ auth, authorize }: Pick<ProxyOptions, "auth" | "authorize">): boolean {
  return auth !== "anonymous" && authorize !== "all";
}

/** The parts that all reviews of callers share. */
interface Reviewing {
  readonly client: ClusterConnection;
  /** One for each kind: a permission that is missing for one kind must not make the answers of another not count. */
  readonly makeQueue: (permission: string, limits?: ReviewQueueLimits) => ReviewQueue;
  readonly clock: Clock;
  readonly times: Partial<ReviewTimes>;
  readonly observe: (kind: ReviewKindName) => (result: ReviewResult, cachedAnswers: number) => void;
}

function needsReviews({ auth, authorize, tokenReview, managementAuth }: AccessOptions): boolean {
  return auth === "pod-ip" || authorize === "rbac" || tokenReview || managementAuth === "rbac";
}

function needsCluster(options: AccessOptions): boolean {
  return needsReviews(options) || options.authJwksFile === "";
}

/** A source of files needs no cluster, so the error must say that access control does. */
function withoutCluster(options: AccessOptions, error: unknown): unknown {
  if (!(error instanceof KubeError)) return error;
  const instead = needsReviews(options)
    ? ""
    : ". To verify tokens without asking it, set --auth-jwks-file and --auth-issuer";
  const message = `--auth=${options.auth} asks an API server who callers are: ${error.message}${instead}`;
  return new KubeError(error.code, message, { cause: error });
}

/** Undefined if everyone with an identity may read everything. */
function authorizerOf({ authorize }: AccessOptions, reviewing: Reviewing): Authorizer | undefined {
  switch (authorize) {
    case "all":
      return undefined;
    case "rbac":
      return new AccessReviews({
        ...reviewing,
        queue: reviewing.makeQueue(accessPermission),
        onReview: reviewing.observe("access"),
      });
    default:
      return ownNamespace;
  }
}

/** Undefined if everyone with an identity may read the pages of the management port. */
function pageReviews({ managementAuth }: AccessOptions, reviewing: Reviewing): PathReviews | undefined {
  if (managementAuth !== "rbac") return undefined;
  return new PathReviews({
    ...reviewing,
    queue: reviewing.makeQueue(accessPermission),
    onReview: reviewing.observe("page"),
  });
}

function podAddresses({ authRecheck }: AccessOptions, reviewing: Reviewing): Authenticator {
  return new PodAddresses({
    ...reviewing,
    queue: reviewing.makeQueue(podPermission),
    listQueue: reviewing.makeQueue(podPermission, podListLimits),
    // Rarely: each look goes through all Pods, and a connection ends with its Pod anyway.
    times: { recheckTtlMs: authRecheck * 5 },
    onReview: reviewing.observe("pod"),
  });
}

function tokenAuthenticator(
  options: AccessOptions,
  { context }: AccessParts,
  reviewing: Reviewing,
  runnables: Runnable[],
): Authenticator {
  const { authAudience: audience, authIssuer: issuers, authJwksFile } = options;
  const source =
    authJwksFile === ""
      ? clusterKeys(reviewing.client, { asksIssuer: issuers.length === 0 })
      : fileKeys(authJwksFile);
  const keys = new KeySet({
    source,
    issuers,
    clock: context.clock,
    logger: context.logger,
    onRead: (result) => context.metrics.keysRead(result),
  });
  runnables.push(keys);
  const tokens = new TokenAuthenticator({
    keys,
    audience,
    clock: context.clock,
    onVerified: (result) => {
      context.metrics.tokenVerified(result);
      context.metrics.cachedTokens(tokens.size);
    },
  });
  if (!options.tokenReview) return tokens;
  return new TokenReviews({
    ...reviewing,
    queue: reviewing.makeQueue(tokenReviewPermission),
    tokens,
    audience,
    onReview: reviewing.observe("token"),
  });
}

function certificateTemplate({ authCertificateUri }: AccessOptions): ReturnType<typeof uriTemplate> {
  try {
    return uriTemplate(authCertificateUri);
  } catch (error) {
    throw ProxyError.optionInvalid(`--auth-certificate-uri: ${(error as Error).message}`);
  }
}

/** Flags that say something of tokens. */
const ofTokens: ReadonlySet<string> = new Set([
  "token-review",
  "auth-audience",
  "auth-issuer",
  "auth-jwks-file",
]);

/** Options that would have no effect are mistakes, and here a mistake could leave a door open. */
function checkOptions(options: AccessOptions): void {
  const { auth, authAudience, authIssuer, authJwksFile } = options;
  const given = givenFlags(accessOptionTable, options);
  const aboutTokens = given.find((flag) => ofTokens.has(flag));
  if (auth === "anonymous") {
    const useless = aboutTokens ?? given[0];
    if (useless === undefined) return;
    const orByAddress = aboutTokens === undefined ? ", or --auth=pod-ip for stock sidecars" : "";
    const remedy = `add --auth=token or --auth=optional${orByAddress}`;
    throw ProxyError.optionInvalid(`--${useless} has no effect with --auth=anonymous: ${remedy}`);
  }
  if (auth === "pod-ip") {
    if (aboutTokens === undefined) return;
    throw ProxyError.optionInvalid(
      `--${aboutTokens} has no effect with --auth=pod-ip, which reads no tokens: use --auth=token`,
    );
  }
  if (authAudience === "")
    throw ProxyError.optionInvalid("--auth-audience is empty: tokens for any service would be accepted");
  if (authJwksFile !== "" && authIssuer.length === 0)
    throw ProxyError.optionInvalid(
      "--auth-jwks-file needs --auth-issuer: a file of keys does not say who signs with them",
    );
}
