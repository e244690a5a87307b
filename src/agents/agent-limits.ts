import { availableParallelism } from 'node:os'

/** Limits of one question that are not settings. `chars` are UTF-16 code units. */
export const AGENT_LIMITS = {
  /** The question itself; a longer one is refused. */
  questionBytesMax: 65_536,
  /** The part of a question shown in the list of running ones. */
  questionCharsShown: 200,
  /** Earlier turns shown to the model: the newest that fit. */
  historyBytesMax: 65_536,
  /** Text and tool inputs of one turn of the model. */
  turnCharsMax: 200_000,
  /** The part of a model's thoughts kept for the trace. */
  reasoningCharsMax: 20_000,
  /** Tool calls in one turn of the model. */
  turnCallsMax: 64,
  /** How many run in parallel. */
  toolCallsAtOnceMax: 4,
  /** A statement of a model. */
  sqlCharsMax: 65_536,
  /** Rows of a tool result that the model is shown. */
  observationRowsMax: 30,
  /** Rows of the last statement included in an answer of the mode `sql`, and their size as JSON. */
  finalRowsMax: 1_000,
  finalBytesMax: 1_048_576,
  /** Longer cells are cut, with a note. */
  cellCharsMax: 4_000,
  /** Names of knowledge bases and tables in the system prompt; the tools list them all. */
  promptNamesMax: 100,
  /** Chunks of one question that can be cited. */
  passagesMax: 1_000,
  /** Citations of one answer: few enough to be looked up in one result. */
  citationsMax: 30,
  /** Charts in one answer. */
  chartsMax: 10,
  /** Statements over tables whose rows are remembered for one answer, the newest. */
  statementsKeptMax: 20,
  /** Tables of one data source that an agent may read, and the time to list them. */
  sourceTablesMax: 1_000,
  listingMs: 3_000,
  /** Names that one call of a tool which describes may ask for. */
  describedNamesMax: 5,
  /** The JSON schema of an answer: its size, and its number of schemas with references unfolded. */
  schemaBytesMax: 32_768,
  schemaDepthMax: 24,
  schemaUnfoldedMax: 5_000,
  schemaPatternsMax: 20,
  patternCharsMax: 200,
  patternRepeatsMax: 1_000,
  /** Events that wait for a slow client; the worker pauses at this number. */
  eventsWaitingMax: 64,
  /** Events of one answer. */
  eventsMax: 500_000,
  /** Text in all messages of one worker. */
  messagesCharsMax: 64_000_000,
  /** Texts that a worker may want embedded, at once and in all. */
  embedsPendingMax: 8,
  embedTextsMax: 20_000,
  /** Up to this many questions of one agent each have a separate thread; more share these. */
  threadsPerAgent: Math.min(8, Math.max(2, availableParallelism())),
  /** Questions that share a thread; beyond it there are more threads. */
  threadQuestionsMax: 32,
  /** Questions that one thread answers in its life. */
  threadRunsMax: 2_000,
  /** Memory is collected after this many questions: the JavaScript engine underestimates the size of DuckDB's results. */
  questionsPerCollection: 1_000,
  /** How long an idle thread waits for its agent's next question, and how many may wait. */
  threadIdleMs: 30_000,
  threadsIdleMax: 16,
  /** How long a question's work in a thread may continue after its end. */
  leaveMs: 250,
  /** A thread that does not answer a ping this long after a question was abandoned is ended, with its other questions. */
  stuckMs: 2_000,
  /** Interval of checks whether a busy thread is alive, and how many may fail: 3 s, and 40 s at its start. */
  pingMs: 250,
  pingTicksMax: 12,
  startTicksMax: 160,
  /** Memory at which a thread ends, and at which it gets no further questions. */
  threadBytesMax: 512 * 1024 * 1024,
  threadBytesKept: 96 * 1024 * 1024,
  /** A thread that has not answered a ping for this long is blamed for the growth of the process's memory. */
  memoryTicksMin: 3,
} as const

/** Length in UTF-8. */
export function byteSize(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** The first `chars` code units, or one less to keep a character whole. */
export function firstChars(text: string, chars: number): string {
  return text.slice(0, chars).toWellFormed() === text.slice(0, chars)
    ? text.slice(0, chars)
    : text.slice(0, chars - 1)
}

/**
 * The longest prefix of a text with at most `bytesMax` bytes in UTF-8 that ends with a whole character.
 */
export function firstBytes(text: string, bytesMax: number): string {
  if (byteSize(text) <= bytesMax) return text
  const room = new Uint8Array(bytesMax)
  const { read } = new TextEncoder().encodeInto(text, room)
  return text.slice(0, read)
}
