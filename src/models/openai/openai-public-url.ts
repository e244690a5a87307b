/** Where the openai provider is reached when no address is configured. */
export const OPENAI_PUBLIC_URL = 'https://api.openai.com/v1'
