/** A message type as ts-proto generates it. */
export interface GeneratedMessage<Message> {
  encode(message: Message): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Message;
}

export interface MessageCodec<Message> {
  readonly encode: (message: Message) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Message;
}

/** The two functions of a generated message type that a method needs. */
export function messageCodec<Message>(type: GeneratedMessage<Message>): MessageCodec<Message> {
  return { encode: (message) => type.encode(message).finish(), decode: (bytes) => type.decode(bytes) };
}
