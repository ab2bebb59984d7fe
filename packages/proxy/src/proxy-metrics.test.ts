import { createRegistry } from "@bunting/runtime";
import { expect } from "chai";
import { proxyMetrics } from "./proxy-metrics.js";

describe("the proxy's metrics", () => {
  async function linesAfter(record: (metrics: ReturnType<typeof proxyMetrics>) => void): Promise<string[]> {
    const registry = createRegistry(false);
    record(proxyMetrics(registry));
    return (await registry.metrics()).split("\n");
  }

  it("count topics, subscribers and what they are sent", async () => {
    const lines = await linesAfter((metrics) => {
      metrics.topics("live", 2);
      metrics.topics("live", -1);
      metrics.heldSubscribers(3);
      metrics.snapshotPublished(700);
      metrics.converged(0.99, 20);
      metrics.refused("topics_per_address");
      metrics.activeStreams(4);
      metrics.conflated(5);
      metrics.frameWritten();
      metrics.fannedOut(2);
      metrics.agentMessage("delta", 30);
      metrics.agentSubscriptions(6);
      metrics.nacked("mismatch");
      metrics.ackTimedOut();
      metrics.rejectedFlags(7);
      metrics.heldBack(8);
    });
    expect(lines).to.include.members([
      'bunting_proxy_topic_topics{state="live"} 1',
      "bunting_proxy_topic_held_subscribers 3",
      "bunting_proxy_snapshot_published_total 1",
      "bunting_proxy_snapshot_encoded_bytes_total 700",
      'bunting_proxy_topic_convergence_seconds_sum{share="0.99"} 0.02',
      'bunting_proxy_service_refusals_total{reason="topics_per_address"} 1',
      "sync_active_streams 4",
      "bunting_proxy_subscriber_conflated_total 5",
      "bunting_proxy_subscriber_frames_written_total 1",
      "bunting_proxy_subscriber_fan_out_seconds_sum 0.002",
      'bunting_proxy_subscriber_messages_total{kind="delta"} 1',
      'bunting_proxy_subscriber_message_bytes_total{kind="delta"} 30',
      "bunting_proxy_subscriber_subscriptions 6",
      'bunting_proxy_subscriber_nacks_total{kind="mismatch"} 1',
      "bunting_proxy_subscriber_ack_timeouts_total 1",
      "bunting_proxy_subscriber_rejected_flags 7",
      "bunting_proxy_subscriber_held_back 8",
    ]);
  });

  it("count the connections of the sync port, and what limits do", async () => {
    const plaintext = { isEncrypted: false, peerCertificate: undefined };
    const lines = await linesAfter((metrics) => {
      metrics.stalled();
      metrics.queuedStarts(2);
      metrics.connectionEnded("age");
      metrics.callsWaiting(3);
      metrics.callDelayed();
      metrics.connectionOpened("tls");
      metrics.readConnections(() => [plaintext, plaintext, { ...plaintext, isEncrypted: true }]);
      metrics.tls.handshake("resumed");
      metrics.tls.reload("client_ca", "refused");
      metrics.tls.validTo("certificate", 1_500);
    });
    expect(lines).to.include.members([
      "bunting_proxy_subscriber_stalled_total 1",
      "bunting_proxy_subscriber_queued 2",
      'bunting_proxy_service_connections_ended_total{reason="age"} 1',
      "bunting_proxy_service_calls_waiting 3",
      "bunting_proxy_service_calls_delayed_total 1",
      'bunting_proxy_service_connections_total{encryption="tls"} 1',
      'bunting_proxy_service_connections{encryption="none"} 2',
      'bunting_proxy_service_connections{encryption="tls"} 1',
      'bunting_proxy_service_connections{encryption="mutual_tls"} 0',
      'bunting_proxy_service_tls_handshakes_total{result="resumed"} 1',
      'bunting_proxy_service_tls_reloads_total{file="client_ca",result="refused"} 1',
      'bunting_proxy_service_tls_not_after_timestamp_seconds{file="certificate"} 1.5',
    ]);
  });

  it("count what sources meet with", async () => {
    const open = { object: 1, namespace: 2, cluster: 3 };
    const lines = await linesAfter((metrics) => {
      metrics.sourceError("forbidden");
      metrics.documentInvalid("duplicate");
      metrics.documentWarning("other");
      metrics.unconfirmedTopics(2);
      metrics.copyFailed("full");
      metrics.watchCounts(() => ({ open, oldestMs: 5_000, silentMs: 6_000, unwatched: 7, waiting: 8 }));
      metrics.relisted("expired");
      metrics.watchEvent("MODIFIED");
      metrics.writtenToEvent(2);
      metrics.upstreamStreams(3);
      metrics.upstreamMessage("delta", 40);
      metrics.upstreamFailed("loop");
    });
    expect(lines).to.include.members([
      'bunting_proxy_source_errors_total{kind="forbidden"} 1',
      "bunting_proxy_source_invalid_documents_total 1",
      "bunting_proxy_source_document_remarks_total 1",
      "bunting_proxy_source_unconfirmed_topics 2",
      'bunting_proxy_source_copy_errors_total{kind="full"} 1',
      'bunting_proxy_source_watches{scope="object"} 1',
      'bunting_proxy_source_watches{scope="namespace"} 2',
      'bunting_proxy_source_watches{scope="cluster"} 3',
      "bunting_proxy_source_watch_age_seconds 5",
      "bunting_proxy_source_watch_silence_seconds 6",
      "bunting_proxy_source_unwatched_topics 7",
      "bunting_proxy_source_waiting_topics 8",
      'bunting_proxy_source_relists_total{reason="expired"} 1',
      'bunting_proxy_source_watch_events_total{type="MODIFIED"} 1',
      "bunting_proxy_source_written_to_event_seconds_sum 0.002",
      "bunting_proxy_upstream_streams 3",
      'bunting_proxy_upstream_messages_total{kind="delta"} 1',
      'bunting_proxy_upstream_received_bytes_total{kind="delta"} 40',
      'bunting_proxy_upstream_failures_total{reason="loop"} 1',
    ]);
  });

  it("count who is let in, and who is not", async () => {
    const lines = await linesAfter((metrics) => {
      metrics.admitted("pod-ip");
      metrics.identityRefused("TOKEN_INVALID");
      metrics.topicRefused("denied");
      metrics.pageRefused("/status", "unavailable");
      metrics.accessEnded("identity");
      metrics.watchedIdentities(2);
      metrics.tokenVerified("cached");
      metrics.cachedTokens(3);
      metrics.keysRead("failed");
      metrics.reviewed("pod", "granted");
      metrics.cachedReviews("pod", 4);
    });
    expect(lines).to.include.members([
      'bunting_proxy_access_admitted_total{identity="pod-ip"} 1',
      'bunting_proxy_access_refused_identities_total{reason="TOKEN_INVALID"} 1',
      'bunting_proxy_access_refused_topics_total{reason="denied"} 1',
      'bunting_proxy_access_refused_pages_total{path="/status",reason="unavailable"} 1',
      'bunting_proxy_access_ended_total{reason="identity"} 1',
      "bunting_proxy_access_identities 2",
      'bunting_proxy_access_token_verifications_total{result="cached"} 1',
      "bunting_proxy_access_cached_tokens 3",
      'bunting_proxy_access_key_reads_total{result="failed"} 1',
      'bunting_proxy_access_reviews_total{kind="pod",result="granted"} 1',
      'bunting_proxy_access_cached_reviews{kind="pod"} 4',
    ]);
  });
});
