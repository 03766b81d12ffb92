import { PrefixBill } from "./prefix-bill.ts";
import { type Answer, type Body, inParts, Refusal, records, type Wire } from "./wire.ts";

const PATH = /^\/v1(?:beta)?\/models\/([^/:]+):(streamGenerateContent|generateContent)$/;

/** Google's Gemini API. Calls carry a signature that has to come back with them. */
export function geminiWire(now: () => number): Wire {
	const bill = new PrefixBill("google", now);
	return {
		matches: (path) => PATH.test(path),
		read: ({ tools, generationConfig }, path) => {
			const [, model = "", method] = PATH.exec(path) ?? [];
			const { responseJsonSchema, responseSchema } = Object(generationConfig);
			return {
				model,
				tools: records(tools).flatMap(({ functionDeclarations }) =>
					records(functionDeclarations).map(({ name }) => String(name)),
				),
				isStream: method === "streamGenerateContent",
				schema: responseJsonSchema ?? responseSchema,
			};
		},
		bill(body, { model }) {
			checkSignatures(body);
			return bill.bill(model, {
				tools: records(body.tools),
				system: body.systemInstruction === undefined ? [] : [body.systemInstruction],
				messages: records(body.contents),
			});
		},
		events(answer) {
			const parts = partsOf(answer);
			return parts.map((part, at) => ({
				data: chunkOf(answer, [part], at === parts.length - 1),
			}));
		},
		document: (answer) => chunkOf(answer, partsOf(answer), true),
		error: (status, message) => ({ error: { code: status, message, status: nameOf(status) } }),
	};
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
	400: "INVALID_ARGUMENT",
	404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED",
	503: "UNAVAILABLE",
};

function nameOf(status: number): string {
	return STATUS_NAMES[status] ?? "INTERNAL";
}

/** The API refuses a call of the current turn without its signature. */
function checkSignatures({ contents }: Body): void {
	for (const { parts } of records(contents)) {
		for (const part of records(parts)) {
			if (part.functionCall && typeof part.thoughtSignature !== "string") {
				throw new Refusal(
					400,
					"Function call is missing a thought_signature in functionCall parts.",
				);
			}
		}
	}
}

function partsOf({ number, reply }: Answer): object[] {
	if (!reply) return [];
	if ("text" in reply) return inParts(reply.text).map((text) => ({ text }));
	const { name, input } = reply.call;
	const functionCall = { id: `call_standin${number}`, name, args: input };
	return [{ functionCall, thoughtSignature: Buffer.from(`sig-${number}`).toString("base64") }];
}

function chunkOf({ number, model, usage }: Answer, parts: readonly object[], isLast: boolean) {
	const promptTokenCount = usage.input + usage.read + usage.write;
	return {
		candidates: [
			{ content: { role: "model", parts }, index: 0, ...(isLast && { finishReason: "STOP" }) },
		],
		usageMetadata: {
			promptTokenCount,
			...(usage.read > 0 && { cachedContentTokenCount: usage.read }),
			candidatesTokenCount: isLast ? usage.output : 0,
			totalTokenCount: promptTokenCount + usage.output,
		},
		modelVersion: model,
		responseId: `standin${number}`,
	};
}
