/** A marker that no document can contain, because it is random and made for one question. */
export function newFence(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

export function fenceLines(fence: string): { readonly opening: string; readonly closing: string } {
  return { opening: `<<<data ${fence}`, closing: `${fence} data>>>` }
}

/** Data between two lines that it cannot contain, without sequences that end a message. */
export function withDataFence(data: string, fence: string): string {
  const { opening, closing } = fenceLines(fence)
  const inner = harmless(data).replaceAll(new RegExp(fence, 'gi'), '[…]')
  return `${opening}\n${inner}\n${closing}`
}

/** Several servers interpret these tokens anywhere in a text, so a space breaks them up. */
const TEMPLATE_TOKENS =
  /(<)(?=[|｜][^<>\n]{1,40}[|｜]>|\/?(?:s|bos|eos|start_of_turn|end_of_turn|tool_call|tool_response)>|<\/?SYS>>)|(\[)(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])/gi

export function harmless(text: string): string {
  return text.replaceAll(TEMPLATE_TOKENS, (token) => `${token} `)
}
