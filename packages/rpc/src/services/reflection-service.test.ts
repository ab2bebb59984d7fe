import { Metadata, status } from "@grpc/grpc-js";
import { reflectionV1 } from "@bunting/protocol";
import { expect } from "chai";
import { DescriptorIndex } from "./descriptor-index.js";
import { reflectionService } from "./reflection-service.js";
import {
  answerOf,
  BytesClient,
  grpcHeaders,
  http2Client,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
  eventually,
} from "@bunting/test/support/grpc-port.js";
import { frameMessage } from "../call/framing.js";

type Question = reflectionV1.ServerReflectionRequest["messageRequest"];
type Answer = reflectionV1.ServerReflectionResponse;

const encode = (messageRequest: Question): Buffer =>
  Buffer.from(reflectionV1.ServerReflectionRequest.encode({ host: "", messageRequest }).finish());
const paths = [
  "/flagd.sync.v1.FlagSyncService/SyncFlags",
  "/flagd.sync.v1.FlagSyncService/FetchAllFlags",
  "/grpc.health.v1.Health/Check",
];

async function ask(question: Question, version = "v1"): Promise<Answer["messageResponse"]> {
  const { raw } = new BytesClient(await serve(reflectionService(paths)));
  const call = raw.makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    encode,
    (bytes: Buffer) => reflectionV1.ServerReflectionResponse.decode(bytes),
    new Metadata(),
  );
  const ended = new Promise<{ code: number }>((resolve) => call.on("status", resolve));
  const answers: Answer[] = [];
  call.on("data", (message: Answer) => answers.push(message));
  call.write(question);
  call.end();
  expect((await ended).code).to.equal(status.OK);
  expect(answers).to.have.length(1);
  expect(answers[0]?.originalRequest?.messageRequest).to.deep.equal(question);
  return answers[0]?.messageResponse;
}

/** The names of the files in an answer, read from their bytes. */
function fileNames(answer: Answer["messageResponse"]): string[] {
  if (answer?.$case !== "fileDescriptorResponse") throw new Error(`no files: ${JSON.stringify(answer)}`);
  // A FileDescriptorProto starts with its name: tag, length, text.
  return answer.value.fileDescriptorProto.map((bytes) => bytes.subarray(2, 2 + (bytes[1] ?? 0)).toString());
}

describe("reflectionService", () => {
  releaseAfterEach();

  for (const version of ["v1", "v1alpha"]) {
    it(`lists the registered services and itself in ${version}`, async () => {
      const answer = await ask({ $case: "listServices", value: "*" }, version);
      expect(answer).to.deep.equal({
        $case: "listServicesResponse",
        value: {
          service: [
            { name: "flagd.sync.v1.FlagSyncService" },
            { name: "grpc.health.v1.Health" },
            { name: "grpc.reflection.v1.ServerReflection" },
            { name: "grpc.reflection.v1alpha.ServerReflection" },
          ],
        },
      });
    });
  }

  it("returns the file of a service, method, message or enum, with all its imports", async () => {
    for (const symbol of [
      "flagd.sync.v1.FlagSyncService",
      "flagd.sync.v1.FlagSyncService.SyncFlags",
      "flagd.sync.v1.SyncFlagsRequest",
    ]) {
      expect(fileNames(await ask({ $case: "fileContainingSymbol", value: symbol }))).to.deep.equal([
        "flagd/sync/v1/sync.proto",
        "google/protobuf/struct.proto",
      ]);
    }
    const nested = "grpc.health.v1.HealthCheckResponse.ServingStatus";
    expect(fileNames(await ask({ $case: "fileContainingSymbol", value: nested }))).to.deep.equal([
      "grpc/health/v1/health.proto",
    ]);
    const entry = "google.protobuf.Struct.FieldsEntry";
    expect(fileNames(await ask({ $case: "fileContainingSymbol", value: entry }))).to.deep.equal([
      "google/protobuf/struct.proto",
    ]);
  });

  it("returns a file by its name", async () => {
    const answer = await ask({ $case: "fileByFilename", value: "google/protobuf/struct.proto" });
    expect(fileNames(answer)).to.deep.equal(["google/protobuf/struct.proto"]);
  });

  it("knows that its messages have no extensions", async () => {
    expect(
      await ask({ $case: "allExtensionNumbersOfType", value: "flagd.sync.v1.SyncFlagsRequest" }),
    ).to.deep.equal({
      $case: "allExtensionNumbersResponse",
      value: { baseTypeName: "flagd.sync.v1.SyncFlagsRequest", extensionNumber: [] },
    });
  });

  it("reports what it does not know in-band and continues", async () => {
    const questions: Question[] = [
      { $case: "fileByFilename", value: "no.proto" },
      { $case: "fileContainingSymbol", value: "no.Such" },
      { $case: "fileContainingExtension", value: { containingType: "a.B", extensionNumber: 7 } },
      { $case: "allExtensionNumbersOfType", value: "no.Such" },
      undefined,
    ];
    for (const question of questions) {
      const answer = await ask(question);
      expect(answer?.$case).to.equal("errorResponse");
      expect(answer?.$case === "errorResponse" && answer.value.errorCode).to.equal(
        question === undefined ? status.INVALID_ARGUMENT : status.NOT_FOUND,
      );
    }
  });

  it("reads no further questions of a client that does not read the answers, and goes on when it does", async () => {
    const listener = await serve(reflectionService(paths));
    const client = await rawClient(listener);
    const question = frameMessage(
      encode({ $case: "fileContainingSymbol", value: "flagd.sync.v1.FlagSyncService" }),
    );
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    client.send(Buffer.concat([wire.preface, wire.settings({ 4: 0 }), wire.headers(1, path)]));
    for (let round = 0; round < 300; round += 1) client.send(wire.data(1, question, 0));
    client.send(Buffer.concat([wire.settingsAck(), wire.ping()]));
    await eventually(
      () => client.hasFrame(wire.type.ping),
      "the answer to a PING, before which all was read",
    );
    const [session] = listener.sessions;
    // One answer, and what the client may have sent since: 100 KB, or 160 KB on Node 24. Three hundred answers have 700 KB.
    expect(session?.account.bytes, "one answer").to.be.below(250_000);
    client.send(
      Buffer.concat([
        wire.windowUpdate(0, 10_000_000),
        wire.windowUpdate(1, 10_000_000),
        wire.data(1, question),
      ]),
    );
    await eventually(() => client.frames(wire.type.headers) === 2, "the trailers");
    const answers = client.received.split("flagd.sync.v1.FlagSyncService").length - 1;
    expect(answers, "one each").to.equal(301);
  });

  it("ends the stream of a client that asks too much at once, and counts it", async () => {
    const refused: string[] = [];
    const onRefused = (reason: string): void => void refused.push(reason);
    const request = http2Client(await serve(reflectionService(paths), { onRefused })).request(
      grpcHeaders("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
    );
    request.end(Buffer.concat(Array<Buffer>(500).fill(frameMessage(encode(undefined)))));
    expect((await answerOf(request)).trailers["grpc-status"]).to.equal(String(status.RESOURCE_EXHAUSTED));
    expect(refused).to.deep.equal(["pipelining"]);
  });

  it("refuses bytes that are not a request", async () => {
    const request = http2Client(await serve(reflectionService(paths))).request(
      grpcHeaders("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"),
    );
    request.end(frameMessage(Buffer.from([0xff])));
    expect((await answerOf(request)).headers["grpc-status"]).to.equal(String(status.INTERNAL));
  });
});

describe("DescriptorIndex", () => {
  const text = (field: number, value: string | Buffer): Buffer => {
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]);
  };

  it("survives files that import each other or a missing file", () => {
    const file = (name: string, ...imports: string[]): Buffer =>
      text(
        1,
        Buffer.concat([text(1, name), ...imports.map((each) => text(3, each)), text(4, text(1, `M${name}`))]),
      );
    const index = new DescriptorIndex(Buffer.concat([file("a", "b", "gone"), file("b", "a")]));
    expect(index.fileByName("a")).to.have.length(2);
    expect(index.fileBySymbol("Mb")).to.have.length(2);
    expect(index.hasMessage("Ma")).to.equal(true);
    expect(index.fileByName("gone")).to.equal(undefined);
  });
});
