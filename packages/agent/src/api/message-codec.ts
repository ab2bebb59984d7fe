/** How the messages of a call are encoded: protobuf, or its JSON form. */
export type EvaluationCodec = "proto" | "json";
