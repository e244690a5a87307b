/** Of a question, in UTF-16 code units. */
export const TITLE_CHARS_MAX = 120

/** What a conversation is called in a list: the beginning of its first question. */
export function conversationTitle(question: string): string {
  const title = question.slice(0, TITLE_CHARS_MAX).replace(/\s+/g, ' ').trim().toWellFormed()
  return question.length > TITLE_CHARS_MAX ? `${title}…` : title
}
