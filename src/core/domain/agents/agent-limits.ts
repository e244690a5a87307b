import { availableParallelism } from 'node:os'

/** Limits for one question that are not settings. `chars` means UTF-16 code units. */
export const AGENT_LIMITS = {
  questionBytesMax: 65_536,
  /** How much of a question is shown in the list of running questions. */
  questionCharsShown: 200,
  /** Size of the earlier turns shown to the model: as many of the newest as fit. */
  historyBytesMax: 65_536,
  /** Text and tool inputs in one turn of the model. */
  turnCharsMax: 200_000,
  /** How much of the model's reasoning is kept for the trace. */
  reasoningCharsMax: 20_000,
  turnCallsMax: 64,
  /** Tool calls that run in parallel. */
  toolCallsAtOnceMax: 4,
  /** The length of a statement written by the model. */
  sqlCharsMax: 65_536,
  /** Rows of a tool result shown to the model. */
  observationRowsMax: 30,
  /** Rows of the final result in `sql` mode, and their size as JSON. */
  finalRowsMax: 1_000,
  finalBytesMax: 1_048_576,
  /** Longer cells are truncated, with a note. */
  cellCharsMax: 4_000,
  /** Names listed in the system prompt. The tools list all knowledge bases and tables. */
  promptNamesMax: 100,
  /** Chunks per question that can be cited. */
  passagesMax: 1_000,
  /** Citations per answer; few enough to look up in one result. */
  citationsMax: 30,
  chartsMax: 10,
  /** Statements whose rows are kept for one answer, newest first. */
  statementsKeptMax: 20,
  /** Tables of one data source that an agent may read, and the time limit for listing them. */
  sourceTablesMax: 1_000,
  listingMs: 3_000,
  /** Names in one call of a describing tool. */
  describedNamesMax: 5,
  /** The JSON schema of an answer: its size, and its number of schemas with references expanded. */
  schemaBytesMax: 32_768,
  schemaDepthMax: 24,
  schemaUnfoldedMax: 5_000,
  schemaPatternsMax: 20,
  patternCharsMax: 200,
  patternRepeatsMax: 1_000,
  /** Events waiting for a slow client; the worker pauses at this number. */
  eventsWaitingMax: 64,
  eventsMax: 500_000,
  messagesCharsMax: 64_000_000,
  /** Texts that a worker may embed, at once and in total. */
  embedsPendingMax: 8,
  embedTextsMax: 20_000,
  /** Up to this many parallel questions of an agent get a thread each; further ones share them. */
  threadsPerAgent: Math.min(8, Math.max(2, availableParallelism())),
  /** Questions that share a thread before another one is started. */
  threadQuestionsMax: 32,
  /** Questions that one thread answers before it ends. */
  threadRunsMax: 2_000,
  /** The JavaScript engine underestimates the size of DuckDB's results. */
  questionsPerCollection: 1_000,
  /** How long an idle thread stays alive, and how many may. */
  threadIdleMs: 30_000,
  threadsIdleMax: 16,
  /** How long work in a thread may continue after its question has ended. */
  leaveMs: 250,
  /** After an abandoned question, a thread that answers no ping for this long is ended. */
  stuckMs: 2_000,
  /** The interval of pings, and how many may stay unanswered: 3 s, or 40 s while starting. */
  pingMs: 250,
  pingTicksMax: 12,
  startTicksMax: 160,
  /** The memory use at which a thread is ended, and at which it gets no further questions. */
  threadBytesMax: 512 * 1024 * 1024,
  threadBytesKept: 96 * 1024 * 1024,
  /** A thread with this many unanswered pings is considered the cause if memory grows. */
  memoryTicksMin: 3,
} as const

/** The length in UTF-8 bytes. */
export function byteSize(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** The first `chars` code units, or one less to avoid splitting a character. */
export function firstChars(text: string, chars: number): string {
  return text.slice(0, chars).toWellFormed() === text.slice(0, chars)
    ? text.slice(0, chars)
    : text.slice(0, chars - 1)
}

/** The longest start of a text with at most `bytesMax` UTF-8 bytes that splits no character. */
export function firstBytes(text: string, bytesMax: number): string {
  if (byteSize(text) <= bytesMax) return text
  const room = new Uint8Array(bytesMax)
  const { read } = new TextEncoder().encodeInto(text, room)
  return text.slice(0, read)
}
