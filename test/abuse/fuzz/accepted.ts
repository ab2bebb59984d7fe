/**
 * The closed list of answers that say "our fault" (HTTP 5xx, gRPC INTERNAL and UNKNOWN) or lines of level error for a reason that is the
 * input's. Everything else fails the fuzzer.
 */
interface Accepted {
  readonly pattern: RegExp;
  readonly reason: string;
}

/** Matched against `<port> <path> <status> <message>`. */
const answers: readonly Accepted[] = [
  {
    pattern:
      /grpc-status 13 ([Tt]he request is not a valid (message of this method|protobuf message)|the request ended in the middle of a message|a gRPC frame starts with the byte \d+|a message is marked as compressed but no grpc-encoding was given|A message is marked as compressed, but no encoding is named|A message has the flags \d+, which|grpc-timeout is not a timeout|the message is not valid gzip)/,
    reason: "gRPC's own libraries answer a request that breaks the framing with INTERNAL",
  },
  { pattern: /HTTP\/1\.1 505 /, reason: "the first line of the request names no HTTP/1.x" },
  {
    pattern:
      /^agent-evaluation .* status 500 \{"code":"data_loss","message":"Error parsing input or configuration"\}/,
    reason: "as flagd does, a flag whose rule can't be evaluated is DATA_LOSS, which Connect maps to 500",
  },
  {
    pattern:
      /^agent-evaluation .*(grpc-status 2 General error|status 500 \{"code":"unknown","message":"General error"\})/,
    reason: "as flagd does, a flag whose rule has the name of no variant as its result is UNKNOWN",
  },
  {
    pattern:
      /^agent-(evaluation|ofrep|sync) .* status 503 .*a source that may have the flag has not answered yet/,
    reason: "the hostile proxies answer nothing that can be read, and may have any flag that isn't found",
  },
];

/** Matched against `<process> <message> <error>`. */
const logLines: readonly Accepted[] = [
  {
    pattern:
      /^proxy .*"msg":"(part of a flag file is invalid|a flag file can't be read|there are more errors like these|a FeatureFlag is invalid and not served|a FeatureFlag is in two files)/s,
    reason: "a broken manifest is an error with file and line, by design",
  },
  {
    pattern: /^agent .*"msg":"a flag document was refused; the previous flags are still served"/s,
    reason: "as flagd does, an agent reports a document that it can't serve as an error",
  },
];

export function isAcceptedAnswer(text: string): boolean {
  return answers.some(({ pattern }) => pattern.test(text));
}

export function isAcceptedLog(text: string): boolean {
  return logLines.some(({ pattern }) => pattern.test(text));
}
