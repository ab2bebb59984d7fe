import type { Readable } from "node:stream";
import { nextTurn, Semaphore, systemClock, type Clock } from "@bunting/runtime";
import type { RefusedAdvice } from "../config/cluster-config.js";
import { KubeError } from "../kube-error.js";
import { abortedError } from "../transport/foreign-error.js";
import type { KubeRequest, KubeResponse, KubeTransport } from "../transport/kube-transport.js";
import type { WatchPriority } from "../watch-priority.js";
import { ListSplitter } from "./list-splitter.js";
import { chunksOf, readBeginning, readResponseBody } from "./read-body.js";
import { maxItemBytes, type KubeObject, type ListPage, type ResourceScope } from "./resource.js";
import { collectionPath, objectPath, queryOf, selecting, type Query } from "./resource-path.js";
import { maxErrorBytes, statusError } from "./status-error.js";

/** One page of a LIST. */
export interface ObjectList extends Pick<ListPage, "resourceVersion" | "continueToken"> {
  readonly items: readonly KubeObject[];
}

export type ObjectScope = ResourceScope & { readonly name: string };

/** The kind of a PATCH body. */
export type PatchType = "apply" | "merge" | "json" | "strategic";

export interface ApplyOptions {
  readonly fieldManager: string;
  /** Takes fields over from other managers; without it, fields of theirs are a CONFLICT. */
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly subresource?: string;
}

export interface WriteOptions {
  readonly query?: Query;
  /** `status`, `scale`, … */
  readonly subresource?: string | undefined;
}

export interface RawRequest {
  readonly method: KubeRequest["method"];
  /** Encoded, without the query. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** Absent: application/json. */
  readonly contentType?: string;
  /** Absent: application/json. */
  readonly accept?: string;
}

export interface RestClientOptions {
  /** The most calls under way at once, 16 by default; watches do not count. */
  readonly maxConcurrentCalls?: number;
  readonly clock?: Clock;
  /** What to add where the API server refuses the credentials, or what they may do. */
  readonly refusedAdvice?: RefusedAdvice | undefined;
}

/** The part of the client that reflectors and the proxy need. */
export type KubeClient = Pick<RestClient, "readPage" | "watch" | "isAllowed">;

/** An object list may have any number of bytes (`readPage`); other answers are short. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** Besides its items a list has its metadata, in which the continue token is the longest. */
const maxEnvelopeBytes = 256 * 1024;
/** Bytes of a list after which the event loop gets a turn: parsing them and handling the objects takes some ms. */
const maxSliceBytes = 128 * 1024;
const silenceMs = 60_000;
const errorBodyMs = 5_000;
const contentTypes: Readonly<Record<PatchType, string>> = {
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
};
const reviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/**
 * A client of the Kubernetes API that speaks raw JSON: objects keep all their fields, unknown ones included. Methods
 * throw only KubeError. The client retries nothing beyond what the transport retries; backoff is up to the caller.
 */
export class RestClient {
  readonly #transport: KubeTransport;
  readonly #calls: Semaphore;
  readonly #clock: Clock;
  readonly #refusedAdvice: RefusedAdvice | undefined;

  constructor(transport: KubeTransport, options: RestClientOptions = {}) {
    this.#transport = transport;
    this.#calls = new Semaphore(options.maxConcurrentCalls ?? 16);
    this.#clock = options.clock ?? systemClock;
    this.#refusedAdvice = options.refusedAdvice;
  }

  /** Reads one page as a whole, for lists that are known to be short. */
  async list(scope: ResourceScope, query: Query, signal: AbortSignal): Promise<ObjectList> {
    const items: KubeObject[] = [];
    const page = await this.readPage(scope, query, (object) => items.push(object), signal);
    return { resourceVersion: page.resourceVersion, continueToken: page.continueToken, items };
  }

  /**
   * Reads one page. `query` carries resourceVersion, limit, continue and so on; the scope's name becomes a
   * fieldSelector. Each object is passed on as soon as it has arrived, even if the rest fails: no page is in memory
   * as a whole, and other work goes on in between.
   */
  async readPage(
    scope: ResourceScope,
    query: Query,
    onObject: (object: KubeObject) => void,
    signal: AbortSignal,
  ): Promise<ListPage> {
    const path = collectionPath(scope);
    const request: RawRequest = {
      method: "GET",
      path,
      query: selecting(scope, query),
      ...(scope.isMetadataOnly === true ? { accept: partialObject("PartialObjectMetadataList") } : {}),
    };
    const limits = { silenceMs, clock: this.#clock };
    return this.#call(request, signal, async (body) => {
      let count = 0;
      let bytes = 0;
      const onItem = (json: string): void => {
        count++;
        bytes += json.length;
        if (!signal.aborted) onObject(parse(json, path) as KubeObject);
      };
      const splitter = new ListSplitter({ onItem, maxItemBytes, maxEnvelopeBytes });
      let sliceBytes = 0;
      for await (const chunk of chunksOf(body, limits)) {
        splitter.push(chunk);
        sliceBytes += chunk.length;
        if (sliceBytes < maxSliceBytes) continue;
        sliceBytes = 0;
        await nextTurn();
      }
      const { items, metadata } = (parse(splitter.end(), path) ?? {}) as {
        items?: unknown;
        metadata?: { resourceVersion?: string; continue?: string };
      };
      if (typeof metadata?.resourceVersion !== "string" || !(Array.isArray(items) || items === null))
        throw new KubeError("PROTOCOL", `${path} answered with JSON that is not a list of objects`);
      const continueToken = metadata.continue === "" ? undefined : metadata.continue;
      return { resourceVersion: metadata.resourceVersion, continueToken, items: count, bytes };
    });
  }

  /**
   * Opens a watch. Resolves with the body once the API server has answered 200: one JSON object per line,
   * `{"type", "object"}`. The caller must read the body to the end or destroy it. Speculative watches do not share
   * a connection with normal ones, as far as possible.
   *
   * @param priority `normal` if absent
   */
  async watch(
    scope: ResourceScope,
    query: Query,
    signal: AbortSignal,
    priority?: () => WatchPriority,
  ): Promise<Readable> {
    const path = `${collectionPath(scope)}${queryOf(selecting(scope, { ...query, watch: true }))}`;
    const headers =
      scope.isMetadataOnly === true ? { headers: { accept: partialObject("PartialObjectMetadata") } } : {};
    const request: KubeRequest = { method: "GET", path, kind: "watch", priority, ...headers };
    const response = await this.#transport.request(request, signal);
    if (response.status !== 200) throw await this.#errorOf(response, signal);
    return response.body;
  }

  /** Asks by SelfSubjectAccessReview whether our own token may do this. */
  async isAllowed(verb: string, scope: ResourceScope, signal: AbortSignal): Promise<boolean> {
    const { type, namespace, name } = scope;
    const resourceAttributes = {
      verb,
      group: type.group,
      version: type.version,
      resource: type.plural,
      namespace,
      name,
    };
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    };
    const answer = await this.raw({ method: "POST", path: reviewPath, body }, signal);
    return (answer as { status?: { allowed?: unknown } }).status?.allowed === true;
  }

  async get(scope: ObjectScope, signal: AbortSignal): Promise<KubeObject> {
    return this.#object("GET", scope, undefined, signal, {});
  }

  async create(
    scope: ResourceScope,
    object: object,
    signal: AbortSignal,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const { query = {}, subresource } = options;
    const path =
      subresource === undefined || scope.name === undefined
        ? collectionPath(scope)
        : objectPath(scope, scope.name, subresource);
    return (await this.raw({ method: "POST", path, query, body: object }, signal)) as KubeObject;
  }

  /** Server-side apply: `object` holds exactly the fields we own. */
  async apply(
    scope: ObjectScope,
    object: object,
    options: ApplyOptions,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const { fieldManager, force, dryRun, subresource } = options;
    const query = { fieldManager, force, ...(dryRun === true ? { dryRun: "All" } : {}) };
    return this.patch(scope, "apply", object, signal, { query, subresource });
  }

  async patch(
    scope: ObjectScope,
    type: PatchType,
    body: object,
    signal: AbortSignal,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    return this.#object("PATCH", scope, body, signal, options, contentTypes[type]);
  }

  /** Replaces the object. With a resourceVersion in its metadata, a change in the meantime is a CONFLICT. */
  async update(
    scope: ObjectScope,
    object: object,
    signal: AbortSignal,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    return this.#object("PUT", scope, object, signal, options);
  }

  /** Resolves with the object or a Status. `body`: DeleteOptions, for instance preconditions or the propagation policy. */
  async delete(scope: ObjectScope, signal: AbortSignal, body?: object): Promise<unknown> {
    return this.raw({ method: "DELETE", path: objectPath(scope, scope.name), body }, signal);
  }

  /** Any call whose answer is JSON, or empty (undefined). */
  async raw(request: RawRequest, signal: AbortSignal): Promise<unknown> {
    const limits = { maxBytes: maxAnswerBytes, silenceMs, clock: this.#clock };
    return this.#call(request, signal, async (body) =>
      parse(await readResponseBody(body, limits), request.path),
    );
  }

  /** Sends a request when it is its turn, and reads the body of its answer. */
  async #call<T>(request: RawRequest, signal: AbortSignal, read: (body: Readable) => Promise<T>): Promise<T> {
    const release = await this.#calls.acquire(signal).catch((reason: unknown) => {
      throw abortedError(reason);
    });
    try {
      const { method, path, query = {}, body, contentType = "application/json", accept } = request;
      const headers = {
        ...(accept === undefined ? {} : { accept }),
        ...(body === undefined ? {} : { "content-type": contentType }),
      };
      const payload = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
      const response = await this.#transport.request(
        { method, path: `${path}${queryOf(query)}`, kind: "call", headers, ...payload },
        signal,
      );
      if (response.status < 200 || response.status > 299) throw await this.#errorOf(response, signal);
      return await read(response.body);
    } finally {
      release();
    }
  }

  async #object(
    method: KubeRequest["method"],
    scope: ObjectScope,
    body: object | undefined,
    signal: AbortSignal,
    { query = {}, subresource }: WriteOptions,
    contentType?: string,
  ): Promise<KubeObject> {
    const path = objectPath(scope, scope.name, subresource);
    const request = { method, path, query, body, ...(contentType === undefined ? {} : { contentType }) };
    return (await this.raw(request, signal)) as KubeObject;
  }

  async #errorOf({ status, headers, body }: KubeResponse, signal: AbortSignal): Promise<KubeError> {
    const limits = { maxBytes: maxErrorBytes, withinMs: errorBodyMs, clock: this.#clock };
    const beginning = await readBeginning(body, limits);
    if (signal.aborted) return abortedError(signal.reason);
    const error = statusError({ status, headers, body: beginning }, this.#clock.now());
    const { code } = error;
    const advice = code === "UNAUTHORIZED" || code === "FORBIDDEN" ? this.#refusedAdvice?.[code] : undefined;
    if (advice === undefined) return error;
    return new KubeError(error.code, `${error.message}; ${advice}`, { cause: error, status });
  }
}

/** An API server that can't convert to this kind answers 406. */
function partialObject(kind: string): string {
  return `application/json;as=${kind};g=meta.k8s.io;v=v1`;
}

function parse(text: string, path: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KubeError("PROTOCOL", `${path} answered with something that is not JSON`, { cause });
  }
}
