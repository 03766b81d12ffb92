type Sdk = typeof import("@earendil-works/pi-coding-agent");

/**
 * The pi SDK under test: the installed one, or the module that `PI_SDK` names (a package or an
 * absolute path). Tests that run pi import it from here, so that one run covers another pi.
 */
export const sdk: Sdk = await import(process.env.PI_SDK ?? "@earendil-works/pi-coding-agent");
