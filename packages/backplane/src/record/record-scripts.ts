import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";
import { lastFence } from "../lease/last-fence.js";
import { epochsAfterFence } from "./position.js";

/** Keeps a script short: Redis does nothing else meanwhile. */
export const topicsAtOnce = 256;
/** Bytes of a field that is not the body. */
const maxFieldBytes = 300;

/*
 * A record is a hash. Values that scripts compare have fields of their own (fence, epoch, version, kind); the signed body repeats
 * them. Times are by the clock of Redis, in milliseconds.
 */
const common = `${lastFence}
local function nowMs()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
-- Under a key of ours may be what other software has put there, of another type: that is no record, and must not keep others from being read.
local function fieldsOf(key, ...)
  local fields = redis.pcall('HMGET', key, ...)
  if fields.err and string.find(fields.err, 'WRONGTYPE', 1, true) then
    return nil
  end
  if fields.err then
    error(fields.err)
  end
  return fields
end
-- Whether a field beside the body is longer than any that we write. It is not read then: a copy of megabytes for Lua would keep Redis from all else.
local function hasLongField(key)
  for _, field in ipairs({'fence', 'confirmed', 'signature', 'epoch', 'version', 'kind'}) do
    if redis.call('HSTRLEN', key, field) > ${maxFieldBytes} then
      return true
    end
  end
  return false
end
-- Epochs are fencing numbers, and a few that follow one: beyond those that may have been given out, nobody of ours has written. What is under
-- the largest number of all would never be overwritten, because no epoch comes after it.
local function latestEpoch(fenceKey)
  return math.max(lastFence(fenceKey), redis.call('TIME')[1] * 1000000) + ${epochsAfterFence}
end
local function isPosition(epoch, version, latest)
  return epoch and version and #epoch <= 16 and string.find(epoch, '^%d+$') and #version <= 20 and string.find(version, '^%d+$')
    and tonumber(epoch) <= latest
end
local function isOlder(epoch, version, thanEpoch, thanVersion)
  epoch, thanEpoch = tonumber(epoch), tonumber(thanEpoch)
  if epoch ~= thanEpoch then return epoch < thanEpoch end
  if #version ~= #thanVersion then return #version < #thanVersion end
  return version < thanVersion
end
`;

/**
 * KEYS lease, record, announcements, announced, fence; ARGV holder, fence, epoch, version, kind, body, signature, topic, announcements to keep,
 * ms to keep the record. Returns "written"; "fenced" and who has the lease; or "older", epoch and version of the record.
 *
 * Two conditions keep an old owner from overwriting: its lease must be in force, now, with its number; and the record must not be one of a
 * higher number, written under a later lease. The second one covers a failover that brings an earlier lease back. A number that was never given
 * out, a version that is none, or a field that is too long, is not of an owner, and is overwritten.
 */
export const writeScript = script(
  `${common}
local held = redis.call('HMGET', KEYS[1], 'holder', 'fence')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
  return {'fenced', string.sub(held[1] or '', 1, 300)}
end
local stored = hasLongField(KEYS[2]) and {} or redis.call('HMGET', KEYS[2], 'fence', 'epoch', 'version')
local fence = tonumber(stored[1] or '') or 0
if fence > tonumber(ARGV[2]) and fence <= lastFence(KEYS[5]) then
  return {'fenced', ''}
end
if isPosition(stored[2], stored[3], latestEpoch(KEYS[5])) and isOlder(ARGV[3], ARGV[4], stored[2], stored[3]) then
  return {'older', stored[2], stored[3]}
end
redis.call('HSET', KEYS[2], 'fence', ARGV[2], 'epoch', ARGV[3], 'version', ARGV[4], 'kind', ARGV[5], 'body', ARGV[6],
  'signature', ARGV[7], 'confirmed', nowMs())
redis.call('PEXPIRE', KEYS[2], ARGV[10])
local number = redis.call('INCR', KEYS[4])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[9], '*', 'topic', ARGV[8], 'epoch', ARGV[3], 'version', ARGV[4], 'number', number)
return {'written'}
`,
  answerOf.stated(["written", "fenced", "older"]),
);

/**
 * KEYS lease, record, …; ARGV holder, fence, then for each record epoch, version, ms to keep it. Returns "fenced" and who has the lease;
 * or "confirmed" and for each record 1 if it still is what was confirmed.
 */
export const confirmScript = script(
  `${common}
local held = redis.call('HMGET', KEYS[1], 'holder', 'fence')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
  return {'fenced', string.sub(held[1] or '', 1, 300)}
end
local now = nowMs()
local answers = {'confirmed'}
for i = 2, #KEYS do
  local stored = fieldsOf(KEYS[i], 'epoch', 'version', 'fence') or {}
  local at = 3 * (i - 2) + 3
  local isSame = stored[1] == ARGV[at] and stored[2] == ARGV[at + 1] and (tonumber(stored[3] or '') or 0) <= tonumber(ARGV[2])
  if isSame then
    redis.call('HSET', KEYS[i], 'confirmed', now, 'fence', ARGV[2])
    redis.call('PEXPIRE', KEYS[i], ARGV[at + 2])
  end
  answers[i] = isSame and 1 or 0
end
return answers
`,
  answerOf.stated(["confirmed", "fenced"], 1 + topicsAtOnce),
);

/**
 * KEYS record, fence; ARGV most bytes. Returns "none"; "other" if the key holds another type, an epoch beyond all fencing
 * numbers, or a field that is too long; "large" and the bytes; or "record", then fence, age in ms, body, signature, epoch, version, kind.
 */
export const readScript = script(
  `${common}
if not fieldsOf(KEYS[1], 'fence') then
  return {'other'}
end
if hasLongField(KEYS[1]) then
  return {'other'}
end
local bytes = redis.call('HSTRLEN', KEYS[1], 'body')
if bytes > tonumber(ARGV[1]) then
  return {'large', bytes}
end
local stored = redis.call('HMGET', KEYS[1], 'fence', 'confirmed', 'body', 'signature', 'epoch', 'version', 'kind')
if not stored[3] then
  return {'none'}
end
if tonumber(stored[5] or '') and tonumber(stored[5]) > latestEpoch(KEYS[2]) then
  return {'other'}
end
local ago = string.format('%.0f', math.max(0, tonumber(nowMs()) - (tonumber(stored[2] or '0') or 0)))
return {'record', stored[1] or '', ago, stored[3], stored[4] or '', stored[5] or '', stored[6] or '', stored[7] or ''}
`,
  answerOf.buffers(["none", "other", "large", "record"], 8),
);

/** KEYS fence, record, …. Returns for each epoch and version (empty without a record), the ms since its confirmation, and 1 if there is no FeatureFlag. */
export const positionsScript = script(
  `${common}
local answers = {}
local now = tonumber(nowMs())
local latest = latestEpoch(KEYS[1])
for i = 1, #KEYS - 1 do
  local stored = fieldsOf(KEYS[i + 1], 'epoch', 'version', 'confirmed', 'kind') or {}
  local isOne = isPosition(stored[1], stored[2], latest)
  answers[4 * i - 3] = isOne and stored[1] or ''
  answers[4 * i - 2] = isOne and stored[2] or ''
  answers[4 * i] = (stored[4] == 'deleted' or stored[4] == 'missing') and 1 or 0
  answers[4 * i - 1] = string.format('%.0f', math.max(0, now - (tonumber(stored[3] or '0') or 0)))
end
return answers
`,
  answerOf.texts(4 * topicsAtOnce),
);
