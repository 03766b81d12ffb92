import type { Data } from "../../../protocol/index.ts";
import { MAX_UPLOAD, tooLarge } from "../../../text/upload-size.ts";
import { authorization } from "../../connection/connection.ts";

/** Sends a session file to the server and resolves to its report. The browser reads the file as it is sent. */
export async function sendFile(file: File, signal: AbortSignal): Promise<Data<"ReplayReport">> {
	const problem = sizeProblem({ name: file.name, bytes: file.size });
	if (problem !== undefined) throw new Error(problem);
	const headers = { ...authorization(), "Content-Type": "application/octet-stream" };
	const response = await fetch("/replay", { method: "POST", body: file, headers, signal });
	return reportIn(await response.text(), file.name);
}

/** Returns why a file is refused before it is sent. */
export function sizeProblem({ name, bytes }: { name: string; bytes: number }): string | undefined {
	if (bytes === 0) return `${name} is empty.`;
	if (bytes <= MAX_UPLOAD) return undefined;
	return `${tooLarge(name, bytes)}. If it is one of the session files below, choose it there; or run: strata replay <file>`;
}

/** Reads the server's answer. Throws its error, which names the file as `content`. */
export function reportIn(answer: string, file: string): Data<"ReplayReport"> {
	let parsed: { success?: unknown; data?: unknown; error?: unknown } | null;
	try {
		parsed = JSON.parse(answer);
	} catch {
		// A refusal in words, by the server or by a proxy in front of it.
		throw new Error(answer.trim().slice(0, MAX_REFUSAL) || "The server did not answer.");
	}
	if (parsed?.success === true) return parsed.data as Data<"ReplayReport">;
	const why = parsed?.error;
	throw new Error(replayProblem(typeof why === "string" ? why : "The replay failed.", file));
}

const MAX_REFUSAL = 300;

/** Inserts the file's name, which the server does not know if only the content was sent. */
export function replayProblem(why: string, file: string): string {
	return why.replace(/^content(?= )/, () => file);
}
