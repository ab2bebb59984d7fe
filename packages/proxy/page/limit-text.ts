/** What happened at a limit, by the words that the proxy counts it under; those of a newer proxy show as they are. */
const texts: Readonly<Record<string, string>> = {
  stalled: "stream reset: its peer did not read (--stall-timeout)",
  streams: "client waits: streams of a connection (--max-streams-per-connection)",
  queued: "stream waited for its first flags (--first-snapshot-rate)",
  calls_delayed: "call delayed: many short ones on a connection",
  ack_timeout: "agent did not acknowledge in time (--ack-timeout)",
  "refused/topics_per_connection":
    "subscription refused: topics of a connection (--max-topics-per-connection)",
  "refused/topics_per_address": "subscription refused: topics of an address (--max-topics-per-address)",
  "refused/topics_per_stream": "subscription refused: topics of a stream",
  "ended/silent": "connection dropped: no answer to a PING (--keepalive-timeout)",
  "ended/stalled": "connection dropped: its peer did not read (--stall-timeout)",
  "ended/flood": "connection ended: too many PING or SETTINGS frames",
  "ended/protocol_error": "connection ended: an error in HTTP/2",
  "ended/memory": "connection ended or refused: memory (--peer-memory)",
  "ended/settings": "connection ended: SETTINGS not acknowledged",
  "ended/headers": "connection ended: headers too large",
  "ended/unfinished_headers": "connection dropped: headers that did not end",
  "ended/tls": "connection ended: TLS to a port without it",
  "ended/age": "connection ended: its age (--max-connection-age)",
  "request/headers": "request refused: its headers",
  "request/message_size": "request refused: its size",
  "request/answer_size": "request refused: the size of its answer",
  "request/message_timeout": "request ended: it did not arrive whole in time",
  "request/request_timeout": "request ended: nothing arrived in time",
  "request/unfinished_messages": "request refused: too much that did not arrive whole",
  "request/unread_answers": "request refused: answers not read",
  "request/pipelining": "connection dropped: too many requests ahead of their answers",
  "request/small_pieces": "connection dropped: a body in too many small chunks",
  "request/memory": "request refused: memory (--peer-memory)",
};

export function limitText(what: string): string {
  return texts[what] ?? what.replaceAll("_", " ").replaceAll("/", ": ");
}
