/** A mark unknown to every document: it is created for one question. */
export function newFence(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/** The lines around data shown to a model. */
export function fenceLines(fence: string): { readonly opening: string; readonly closing: string } {
  return { opening: `<<<data ${fence}`, closing: `${fence} data>>>` }
}

/**
 * Data as a model is shown it: between two lines that nothing in it can repeat, and without what
 * some servers read as the end of a message.
 */
export function withDataFence(data: string, fence: string): string {
  const { opening, closing } = fenceLines(fence)
  const inner = harmless(data).replaceAll(new RegExp(fence, 'gi'), '[…]')
  return `${opening}\n${inner}\n${closing}`
}

/**
 * Tokens that open or close a message in the templates of open models. Several servers treat them as real ones anywhere in
 * the text, so a space breaks them up.
 */
const TEMPLATE_TOKENS =
  /(<)(?=[|｜][^<>\n]{1,40}[|｜]>|\/?(?:s|bos|eos|start_of_turn|end_of_turn|tool_call|tool_response)>|<\/?SYS>>)|(\[)(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])/gi

export function harmless(text: string): string {
  return text.replaceAll(TEMPLATE_TOKENS, (token) => `${token} `)
}
