/** Where the anthropic provider is reached when no address is configured. */
export const ANTHROPIC_PUBLIC_URL = 'https://api.anthropic.com'
