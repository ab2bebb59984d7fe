import { ProtocolError } from "./protocol-error.js";
import { quoted } from "./quoted.js";

/** The key of a topic, `namespace/name`. Both are checked as RFC 1123 names, so that they may be put into a URL or a field selector. */
export type TopicKey = `${string}/${string}`;

const group = "core.openfeature.dev/";
const expectedForm = "expected core.openfeature.dev/<namespace>/<name> or <namespace>/<name>";

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** True if Kubernetes would accept the text as the name of a namespace (RFC 1123 label, at most 63 characters). */
export function isNamespaceName(text: string): boolean {
  return label.test(text);
}

/** True if Kubernetes would accept the text as the name of a FeatureFlag (RFC 1123 subdomain, at most 253 characters). */
export function isObjectName(text: string): boolean {
  return text.length <= 253 && subdomain.test(text);
}

/** Longer names of files are not allowed by Linux. */
const maxFileName = 255;

/**
 * True if the text may name a topic that is a flagd file: `My_flags`. Selectors travel in headers of gRPC, so it is printable ASCII without
 * spaces around it. Only sources that never put a name into a URL, a selector of Kubernetes or a path may take such topics.
 */
export function isFileTopicName(text: string): boolean {
  return text.length <= maxFileName && /^[!-.0-~](?:[ -.0-~]*[!-.0-~])?$/.test(text) && !/^\.\.?$/.test(text);
}

/** True for `namespace/name`, if Kubernetes would accept both names. */
export function isTopicKey(text: string): text is TopicKey {
  const slash = text.indexOf("/");
  return slash > 0 && isNamespaceName(text.slice(0, slash)) && isObjectName(text.slice(slash + 1));
}

export function topicKey(namespace: string, name: string): TopicKey {
  return `${namespace}/${name}`;
}

/**
 * Reads a selector that names one topic: `core.openfeature.dev/ns/name` or `ns/name`.
 *
 * @param isName what names may be: those of Kubernetes, if absent, or of files
 * @throws ProtocolError SELECTOR_INVALID, whose message quotes the selector and the expected form.
 */
export function parseTopicSelector(
  selector: string,
  isName: (text: string) => boolean = isObjectName,
): TopicKey {
  if (selector === "") throw invalid("the selector is empty");
  const parts = (selector.startsWith(group) ? selector.slice(group.length) : selector).split("/");
  const [namespace, name] = parts;
  if (parts.length !== 2 || namespace === undefined || name === undefined)
    throw invalid(`the selector ${quoted(selector)} does not name a FeatureFlag`);
  if (!isNamespaceName(namespace))
    throw invalid(
      `the selector ${quoted(selector)} has ${quoted(namespace)} as its namespace, which Kubernetes would not accept`,
    );
  if (!isName(name)) {
    const whose = isName === isObjectName ? "Kubernetes would not accept" : "no FeatureFlag or file can have";
    throw invalid(`the selector ${quoted(selector)} has ${quoted(name)} as its name, which ${whose}`);
  }
  return topicKey(namespace, name);
}

/**
 * Reads a selector that names a topic, or one of another cluster, which has a prefix: `eu/ns/name`. A proxy that serves several clusters has
 * such topics.
 *
 * @throws ProtocolError SELECTOR_INVALID
 */
export function parsePrefixedSelector(
  selector: string,
  isName?: (text: string) => boolean,
): {
  /** With its slash; "" if there is none. */
  readonly prefix: string;
  readonly topic: TopicKey;
} {
  const named = selector.startsWith(group) ? selector.slice(group.length) : selector;
  const prefix = named.split("/").length === 3 ? named.slice(0, named.indexOf("/")) : "";
  if (!isNamespaceName(prefix)) return { prefix: "", topic: parseTopicSelector(selector, isName) };
  return { prefix: `${prefix}/`, topic: parseTopicSelector(named.slice(prefix.length + 1), isName) };
}

/**
 * As parsePrefixedSelector, with the prefix as a part of the key: what a proxy calls such a topic. It may be that of a file.
 *
 * @throws ProtocolError SELECTOR_INVALID
 */
export function parseAnySelector(selector: string): TopicKey {
  const { prefix, topic } = parsePrefixedSelector(selector, isFileTopicName);
  return `${prefix}${topic}`;
}

/** The topic that a selector names, with the prefix of its cluster if it has one; undefined if it is another selector. */
export function topicOf(selector: string): TopicKey | undefined {
  try {
    return parseAnySelector(selector);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

function invalid(what: string): ProtocolError {
  return new ProtocolError("SELECTOR_INVALID", `${what}: ${expectedForm}`);
}
