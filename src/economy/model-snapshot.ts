/**
 * Written by test/economy/model-prices.test.ts from pi's model table; see there how to renew it.
 * The lines are explained at `parseModels`.
 */
export const MODEL_SNAPSHOT = `
amazon-bedrock amazon.nova-2-lite-v1:0 bedrock-converse-stream 1000000 0.33/2.75/0.0825/0.33
amazon-bedrock amazon.nova-lite-v1:0 bedrock-converse-stream 300000 0.06/0.24/0.015/0.06
amazon-bedrock amazon.nova-micro-v1:0 bedrock-converse-stream 128000 0.035/0.14/0.00875/0.035
amazon-bedrock amazon.nova-pro-v1:0 bedrock-converse-stream 300000 0.8/3.2/0.2/0.8
amazon-bedrock anthropic.claude-fable-5 bedrock-converse-stream 1000000 10/50/1/12.5
amazon-bedrock anthropic.claude-fable-5-1 bedrock-converse-stream 1000000 10/50/0.25/12.5
amazon-bedrock anthropic.claude-haiku-4-5-20251001-v1:0 bedrock-converse-stream 200000 1/5/0.1/1.25
amazon-bedrock anthropic.claude-opus-4-1-20250805-v1:0 bedrock-converse-stream 200000 15/75/1.5/18.75
amazon-bedrock anthropic.claude-opus-4-5-20251101-v1:0 bedrock-converse-stream 200000 5/25/0.5/6.25
amazon-bedrock anthropic.claude-opus-4-6-v1 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock anthropic.claude-opus-4-7 bedrock-converse-stream 1000000 5/25/0.5/6.25
amazon-bedrock anthropic.claude-opus-4-8 bedrock-converse-stream 1000000 5/25/0.5/6.25
amazon-bedrock anthropic.claude-opus-5-5 bedrock-converse-stream 1000000 4/20/0.2/5
amazon-bedrock anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock-converse-stream 200000 3/15/0.3/3.75
amazon-bedrock anthropic.claude-sonnet-4-6 bedrock-converse-stream 1000000 3.3/16.5/0.33/4.125
amazon-bedrock anthropic.claude-sonnet-5 bedrock-converse-stream 1000000 2/10/0.2/2.5
amazon-bedrock apac.amazon.nova-lite-v1:0 bedrock-converse-stream 300000 0.063/0.252/0.01575/0.063
amazon-bedrock apac.amazon.nova-micro-v1:0 bedrock-converse-stream 128000 0.037/0.148/0.00925/0.037
amazon-bedrock apac.amazon.nova-pro-v1:0 bedrock-converse-stream 300000 0.84/3.36/0.21/0.84
amazon-bedrock apac.anthropic.claude-sonnet-4-20250514-v1:0 bedrock-converse-stream 200000 3/15/0.3/3.75
amazon-bedrock au.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock-converse-stream 200000 1.1/5.5/0.11/1.375
amazon-bedrock au.anthropic.claude-opus-4-6-v1 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock au.anthropic.claude-opus-4-7 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock au.anthropic.claude-opus-4-8 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock au.anthropic.claude-opus-5 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock au.anthropic.claude-opus-5-5 bedrock-converse-stream 1000000 4.4/22/0.22/5.5
amazon-bedrock au.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock-converse-stream 200000 3.3/16.5/0.33/4.125
amazon-bedrock au.anthropic.claude-sonnet-4-6 bedrock-converse-stream 1000000 3.3/16.5/0.33/4.125
amazon-bedrock au.anthropic.claude-sonnet-5 bedrock-converse-stream 1000000 2.2/11/0.22/2.75
amazon-bedrock ca.amazon.nova-lite-v1:0 bedrock-converse-stream 300000 0.064/0.256/0.016/0.064
amazon-bedrock deepseek.v3-v1:0 bedrock-converse-stream 163840 0.58/1.68/0/0
amazon-bedrock deepseek.v3.2 bedrock-converse-stream 163840 0.62/1.85/0/0
amazon-bedrock eu.amazon.nova-2-lite-v1:0 bedrock-converse-stream 1000000 0.374/3.157/0.0935/0.374
amazon-bedrock eu.amazon.nova-lite-v1:0 bedrock-converse-stream 300000 0.069/0.276/0.01725/0.069
amazon-bedrock eu.amazon.nova-micro-v1:0 bedrock-converse-stream 128000 0.04/0.16/0.01/0.04
amazon-bedrock eu.amazon.nova-pro-v1:0 bedrock-converse-stream 300000 0.92/3.68/0.23/0.92
amazon-bedrock eu.anthropic.claude-fable-5 bedrock-converse-stream 1000000 11/55/1.1/13.75
amazon-bedrock eu.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock-converse-stream 200000 1.1/5.5/0.11/1.375
amazon-bedrock eu.anthropic.claude-opus-4-5-20251101-v1:0 bedrock-converse-stream 200000 5.5/27.5/0.55/6.875
amazon-bedrock eu.anthropic.claude-opus-4-6-v1 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock eu.anthropic.claude-opus-4-7 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock eu.anthropic.claude-opus-4-8 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock eu.anthropic.claude-opus-5 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock eu.anthropic.claude-opus-5-5 bedrock-converse-stream 1000000 4.4/22/0.22/5.5
amazon-bedrock eu.anthropic.claude-sonnet-4-20250514-v1:0 bedrock-converse-stream 200000 3/15/0.3/3.75
amazon-bedrock eu.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock-converse-stream 200000 3.3/16.5/0.33/4.125
amazon-bedrock eu.anthropic.claude-sonnet-4-6 bedrock-converse-stream 1000000 3.3/16.5/0.33/4.125
amazon-bedrock eu.anthropic.claude-sonnet-5 bedrock-converse-stream 1000000 2.2/11/0.22/2.75
amazon-bedrock eu.mistral.pixtral-large-2502-v1:0 bedrock-converse-stream 128000 2/6/0/0
amazon-bedrock global.amazon.nova-2-lite-v1:0 bedrock-converse-stream 1000000 0.3/2.5/0.075/0.3
amazon-bedrock global.anthropic.claude-fable-5 bedrock-converse-stream 1000000 10/50/1/12.5
amazon-bedrock global.anthropic.claude-fable-5-1 bedrock-converse-stream 1000000 10/50/0.25/12.5
amazon-bedrock global.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock-converse-stream 200000 1/5/0.1/1.25
amazon-bedrock global.anthropic.claude-opus-4-5-20251101-v1:0 bedrock-converse-stream 200000 5/25/0.5/6.25
amazon-bedrock global.anthropic.claude-opus-4-6-v1 bedrock-converse-stream 1000000 5/25/0.5/6.25
amazon-bedrock global.anthropic.claude-opus-4-7 bedrock-converse-stream 1000000 5/25/0.5/6.25
amazon-bedrock global.anthropic.claude-opus-4-8 bedrock-converse-stream 1000000 5/25/0.5/6.25
amazon-bedrock global.anthropic.claude-opus-5 bedrock-converse-stream 1000000 5/25/0.5/6.25
amazon-bedrock global.anthropic.claude-opus-5-5 bedrock-converse-stream 1000000 4/20/0.2/5
amazon-bedrock global.anthropic.claude-sonnet-4-20250514-v1:0 bedrock-converse-stream 200000 3/15/0.3/3.75
amazon-bedrock global.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock-converse-stream 200000 3/15/0.3/3.75
amazon-bedrock global.anthropic.claude-sonnet-4-6 bedrock-converse-stream 1000000 3/15/0.3/3.75
amazon-bedrock global.anthropic.claude-sonnet-5 bedrock-converse-stream 1000000 2/10/0.2/2.5
amazon-bedrock global.openai.gpt-5.6-luna bedrock-converse-stream 1050000 0.2/1.2/0.02/0.25
amazon-bedrock global.openai.gpt-5.6-sol bedrock-converse-stream 1050000 4/20/0.4/5
amazon-bedrock global.openai.gpt-5.6-terra bedrock-converse-stream 1050000 2/12/0.2/2.5
amazon-bedrock global.openai.gpt-6-astra bedrock-converse-stream 1050000 10/50/1/12.5
amazon-bedrock global.xai.grok-4.6 bedrock-converse-stream 500000 2/6/0.5/0
amazon-bedrock google.gemma-4-26b-a4b bedrock-converse-stream 262144 0.13/0.4/0/0
amazon-bedrock google.gemma-4-31b bedrock-converse-stream 262144 0.14/0.4/0/0
amazon-bedrock google.gemma-4-e2b bedrock-converse-stream 131072 0.04/0.08/0/0
amazon-bedrock in.openai.gpt-5.6-luna bedrock-converse-stream 1050000 0.22/1.32/0.022/0.275
amazon-bedrock in.openai.gpt-5.6-terra bedrock-converse-stream 1050000 2.2/13.2/0.22/2.75
amazon-bedrock jp.amazon.nova-2-lite-v1:0 bedrock-converse-stream 1000000 0.396/3.311/0.099/0.396
amazon-bedrock jp.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock-converse-stream 200000 1.1/5.5/0.11/1.375
amazon-bedrock jp.anthropic.claude-opus-4-7 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock jp.anthropic.claude-opus-4-8 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock jp.anthropic.claude-opus-5 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock jp.anthropic.claude-opus-5-5 bedrock-converse-stream 1000000 4.4/22/0.22/5.5
amazon-bedrock jp.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock-converse-stream 200000 3.3/16.5/0.33/4.125
amazon-bedrock jp.anthropic.claude-sonnet-4-6 bedrock-converse-stream 1000000 3.3/16.5/0.33/4.125
amazon-bedrock jp.anthropic.claude-sonnet-5 bedrock-converse-stream 1000000 2.2/11/0.22/2.75
amazon-bedrock meta.llama3-1-70b-instruct-v1:0 bedrock-converse-stream 128000 0.72/0.72/0/0
amazon-bedrock meta.llama3-1-8b-instruct-v1:0 bedrock-converse-stream 128000 0.22/0.22/0/0
amazon-bedrock meta.llama3-3-70b-instruct-v1:0 bedrock-converse-stream 128000 0.72/0.72/0/0
amazon-bedrock meta.llama4-maverick-17b-instruct-v1:0 bedrock-converse-stream 1000000 0.24/0.97/0/0
amazon-bedrock meta.llama4-scout-17b-instruct-v1:0 bedrock-converse-stream 10000000 0.17/0.66/0/0
amazon-bedrock minimax.minimax-m2 bedrock-converse-stream 204608 0.3/1.2/0/0
amazon-bedrock minimax.minimax-m2.1 bedrock-converse-stream 204800 0.3/1.2/0/0
amazon-bedrock minimax.minimax-m2.5 bedrock-converse-stream 196608 0.3/1.2/0/0
amazon-bedrock mistral.devstral-2-123b bedrock-converse-stream 256000 0.4/2/0/0
amazon-bedrock mistral.magistral-small-2509 bedrock-converse-stream 128000 0.5/1.5/0/0
amazon-bedrock mistral.ministral-3-14b-instruct bedrock-converse-stream 128000 0.2/0.2/0/0
amazon-bedrock mistral.ministral-3-3b-instruct bedrock-converse-stream 256000 0.1/0.1/0/0
amazon-bedrock mistral.ministral-3-8b-instruct bedrock-converse-stream 128000 0.15/0.15/0/0
amazon-bedrock mistral.mistral-large-3-675b-instruct bedrock-converse-stream 256000 0.5/1.5/0/0
amazon-bedrock mistral.pixtral-large-2502-v1:0 bedrock-converse-stream 128000 2/6/0/0
amazon-bedrock mistral.voxtral-mini-3b-2507 bedrock-converse-stream 32768 0.04/0.04/0/0
amazon-bedrock mistral.voxtral-small-24b-2507 bedrock-converse-stream 32768 0.1/0.3/0/0
amazon-bedrock moonshot.kimi-k2-thinking bedrock-converse-stream 262143 0.6/2.5/0/0
amazon-bedrock moonshotai.kimi-k2.5 bedrock-converse-stream 262143 0.6/3/0/0
amazon-bedrock nvidia.nemotron-nano-12b-v2 bedrock-converse-stream 128000 0.2/0.6/0/0
amazon-bedrock nvidia.nemotron-nano-3-30b bedrock-converse-stream 262144 0.06/0.24/0/0
amazon-bedrock nvidia.nemotron-nano-9b-v2 bedrock-converse-stream 131072 0.06/0.23/0/0
amazon-bedrock nvidia.nemotron-super-3-120b bedrock-converse-stream 262144 0.15/0.65/0/0
amazon-bedrock openai.gpt-5.4 bedrock-converse-stream 272000 2.75/16.5/0.275/0
amazon-bedrock openai.gpt-5.5 bedrock-converse-stream 272000 5.5/33/0.55/0
amazon-bedrock openai.gpt-5.6-luna bedrock-converse-stream 1050000 0.22/1.32/0.022/0.275
amazon-bedrock openai.gpt-5.6-sol bedrock-converse-stream 1050000 4.4/22/0.44/5.5
amazon-bedrock openai.gpt-5.6-terra bedrock-converse-stream 1050000 2.2/13.2/0.22/2.75
amazon-bedrock openai.gpt-6-astra bedrock-converse-stream 1050000 11/55/1.1/13.75
amazon-bedrock openai.gpt-oss-120b bedrock-converse-stream 128000 0.15/0.6/0/0
amazon-bedrock openai.gpt-oss-120b-1:0 bedrock-converse-stream 128000 0.15/0.6/0/0
amazon-bedrock openai.gpt-oss-20b bedrock-converse-stream 128000 0.07/0.3/0/0
amazon-bedrock openai.gpt-oss-20b-1:0 bedrock-converse-stream 128000 0.07/0.3/0/0
amazon-bedrock openai.gpt-oss-safeguard-120b bedrock-converse-stream 128000 0.15/0.6/0/0
amazon-bedrock openai.gpt-oss-safeguard-20b bedrock-converse-stream 128000 0.07/0.2/0/0
amazon-bedrock qwen.qwen3-235b-a22b-2507-v1:0 bedrock-converse-stream 262144 0.22/0.88/0/0
amazon-bedrock qwen.qwen3-32b-v1:0 bedrock-converse-stream 32768 0.15/0.6/0/0
amazon-bedrock qwen.qwen3-coder-30b-a3b-v1:0 bedrock-converse-stream 262144 0.15/0.6/0/0
amazon-bedrock qwen.qwen3-coder-480b-a35b-v1:0 bedrock-converse-stream 131072 0.45/1.8/0/0
amazon-bedrock qwen.qwen3-coder-next bedrock-converse-stream 262144 0.5/1.2/0/0
amazon-bedrock qwen.qwen3-next-80b-a3b bedrock-converse-stream 262144 0.15/1.2/0/0
amazon-bedrock qwen.qwen3-vl-235b-a22b bedrock-converse-stream 262144 0.53/2.66/0/0
amazon-bedrock us-gov.openai.gpt-oss-120b-1:0 bedrock-converse-stream 128000 0.18/0.72/0/0
amazon-bedrock us-gov.openai.gpt-oss-20b-1:0 bedrock-converse-stream 128000 0.084/0.36/0/0
amazon-bedrock us.amazon.nova-2-lite-v1:0 bedrock-converse-stream 1000000 0.33/2.75/0.0825/0.33
amazon-bedrock us.amazon.nova-lite-v1:0 bedrock-converse-stream 300000 0.06/0.24/0.015/0.06
amazon-bedrock us.amazon.nova-micro-v1:0 bedrock-converse-stream 128000 0.035/0.14/0.00875/0.035
amazon-bedrock us.amazon.nova-premier-v1:0 bedrock-converse-stream 1000000 2.5/12.5/0.625/2.5
amazon-bedrock us.amazon.nova-pro-v1:0 bedrock-converse-stream 300000 0.8/3.2/0.2/0.8
amazon-bedrock us.anthropic.claude-fable-5 bedrock-converse-stream 1000000 11/55/1.1/13.75
amazon-bedrock us.anthropic.claude-fable-5-1 bedrock-converse-stream 1000000 11/55/0.275/13.75
amazon-bedrock us.anthropic.claude-haiku-4-5-20251001-v1:0 bedrock-converse-stream 200000 1.1/5.5/0.11/1.375
amazon-bedrock us.anthropic.claude-opus-4-1-20250805-v1:0 bedrock-converse-stream 200000 15/75/1.5/18.75
amazon-bedrock us.anthropic.claude-opus-4-5-20251101-v1:0 bedrock-converse-stream 200000 5.5/27.5/0.55/6.875
amazon-bedrock us.anthropic.claude-opus-4-6-v1 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock us.anthropic.claude-opus-4-7 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock us.anthropic.claude-opus-4-8 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock us.anthropic.claude-opus-5 bedrock-converse-stream 1000000 5.5/27.5/0.55/6.875
amazon-bedrock us.anthropic.claude-opus-5-5 bedrock-converse-stream 1000000 4.4/22/0.22/5.5
amazon-bedrock us.anthropic.claude-sonnet-4-20250514-v1:0 bedrock-converse-stream 200000 3/15/0.3/3.75
amazon-bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0 bedrock-converse-stream 200000 3.3/16.5/0.33/4.125
amazon-bedrock us.anthropic.claude-sonnet-4-6 bedrock-converse-stream 1000000 3.3/16.5/0.33/4.125
amazon-bedrock us.anthropic.claude-sonnet-5 bedrock-converse-stream 1000000 2.2/11/0.22/2.75
amazon-bedrock us.meta.llama3-1-70b-instruct-v1:0 bedrock-converse-stream 128000 0.72/0.72/0/0
amazon-bedrock us.meta.llama3-1-8b-instruct-v1:0 bedrock-converse-stream 128000 0.22/0.22/0/0
amazon-bedrock us.meta.llama3-3-70b-instruct-v1:0 bedrock-converse-stream 128000 0.72/0.72/0/0
amazon-bedrock us.meta.llama4-maverick-17b-instruct-v1:0 bedrock-converse-stream 1000000 0.24/0.97/0/0
amazon-bedrock us.meta.llama4-scout-17b-instruct-v1:0 bedrock-converse-stream 10000000 0.17/0.66/0/0
amazon-bedrock us.mistral.pixtral-large-2502-v1:0 bedrock-converse-stream 128000 2/6/0/0
amazon-bedrock us.openai.gpt-5.6-luna bedrock-converse-stream 1050000 0.22/1.32/0.022/0.275
amazon-bedrock us.openai.gpt-5.6-sol bedrock-converse-stream 1050000 4.4/22/0.44/5.5
amazon-bedrock us.openai.gpt-5.6-terra bedrock-converse-stream 1050000 2.2/13.2/0.22/2.75
amazon-bedrock us.openai.gpt-6-astra bedrock-converse-stream 1050000 11/55/1.1/13.75
amazon-bedrock us.writer.palmyra-x4-v1:0 bedrock-converse-stream 122880 2.5/10/0/0
amazon-bedrock us.writer.palmyra-x5-v1:0 bedrock-converse-stream 1040000 0.6/6/0/0
amazon-bedrock us.xai.grok-4.6 bedrock-converse-stream 500000 2.2/6.6/0.55/0
amazon-bedrock writer.palmyra-x4-v1:0 bedrock-converse-stream 122880 2.5/10/0/0
amazon-bedrock writer.palmyra-x5-v1:0 bedrock-converse-stream 1040000 0.6/6/0/0
amazon-bedrock xai.grok-4.3 bedrock-converse-stream 1000000 1.25/2.5/0.2/0
amazon-bedrock xai.grok-4.6 bedrock-converse-stream 500000 2.2/6.6/0.55/0
amazon-bedrock zai.glm-4.7 bedrock-converse-stream 204800 0.6/2.2/0/0
amazon-bedrock zai.glm-4.7-flash bedrock-converse-stream 200000 0.07/0.4/0/0
amazon-bedrock zai.glm-5 bedrock-converse-stream 202752 1/3.2/0/0
anthropic claude-fable-5 anthropic-messages 1000000 10/50/1/12.5
anthropic claude-fable-5-1 anthropic-messages 1000000 10/50/0.25/12.5
anthropic claude-haiku-4-5 anthropic-messages 200000 1/5/0.1/1.25
anthropic claude-haiku-4-5-20251001 anthropic-messages 200000 1/5/0.1/1.25
anthropic claude-opus-4-5 anthropic-messages 200000 5/25/0.5/6.25
anthropic claude-opus-4-5-20251101 anthropic-messages 200000 5/25/0.5/6.25
anthropic claude-opus-4-6 anthropic-messages 1000000 5/25/0.5/6.25
anthropic claude-opus-4-7 anthropic-messages 1000000 5/25/0.5/6.25
anthropic claude-opus-4-8 anthropic-messages 1000000 5/25/0.5/6.25
anthropic claude-opus-5 anthropic-messages 1000000 5/25/0.5/6.25
anthropic claude-opus-5-5 anthropic-messages 1000000 4/20/0.2/5
anthropic claude-sonnet-4-5 anthropic-messages 1000000 3/15/0.3/3.75
anthropic claude-sonnet-4-5-20250929 anthropic-messages 1000000 3/15/0.3/3.75
anthropic claude-sonnet-4-6 anthropic-messages 1000000 3/15/0.3/3.75
anthropic claude-sonnet-5 anthropic-messages 1000000 2/10/0.2/2.5
deepseek deepseek-flash openai-completions 1000000 0.3/1.2/0.006/0
deepseek deepseek-v4-pro openai-completions 1000000 1.32/3.96/0.044/0
github-copilot claude-fable-5 anthropic-messages 1000000 10/50/1/12.5
github-copilot claude-fable-5.1 anthropic-messages 1000000 10/50/0.25/12.5
github-copilot claude-haiku-4.5 anthropic-messages 200000 1/5/0.1/1.25
github-copilot claude-opus-4.7 anthropic-messages 1000000 5/25/0.5/6.25
github-copilot claude-opus-4.8 anthropic-messages 1000000 5/25/0.5/6.25
github-copilot claude-opus-5 anthropic-messages 1000000 5/25/0.5/6.25
github-copilot claude-opus-5.5 anthropic-messages 1000000 4/20/0.2/5
github-copilot claude-sonnet-4.6 anthropic-messages 1000000 3/15/0.3/3.75
github-copilot claude-sonnet-5 anthropic-messages 1000000 2/10/0.2/2.5
github-copilot gemini-3.5-flash openai-completions 200000 1.5/9/0.15/0
github-copilot gemini-3.6-flash openai-completions 1000000 0.75/3.75/0.075/0
github-copilot gemini-3.7-flash openai-completions 1000000 0.75/3.75/0.075/0
github-copilot gemini-3.8-flash openai-completions 1000000 0.75/3.75/0.075/0
github-copilot gpt-5-mini openai-responses 264000 0.25/2/0.025/0
github-copilot gpt-5.3-codex openai-responses 1000000 1.75/14/0.175/0
github-copilot gpt-5.4 openai-responses 1000000 2.5/15/0.25/0 272000:5/22.5/0.5/0
github-copilot gpt-5.4-mini openai-responses 400000 0.75/4.5/0.075/0
github-copilot gpt-5.4-nano openai-responses 400000 0.2/1.25/0.02/0
github-copilot gpt-5.5 openai-responses 1000000 5/30/0.5/0 272000:10/45/1/0
github-copilot gpt-5.6-luna openai-responses 1050000 0.2/1.2/0.02/0.25 200000:0.4/1.8/0.04/0.5
github-copilot gpt-5.6-sol openai-responses 1050000 4/20/0.4/5 272000:8/30/0.8/10
github-copilot gpt-5.6-terra openai-responses 1050000 2/12/0.2/2.5 272000:4/18/0.4/5
github-copilot gpt-6-astra openai-responses 1000000 10/50/1/12.5 272000:20/75/2/25
github-copilot gpt-6-luna openai-responses 1000000 0.1/0.5/0.01/0.125 272000:0.2/0.75/0.02/0.25
github-copilot gpt-6-sol openai-responses 1000000 2/10/0.2/2.5 272000:4/15/0.4/5
github-copilot grok-4.5 openai-responses 500000 2/6/0.5/0 200000:4/12/1/0
github-copilot grok-4.6 openai-responses 500000 2/6/0.5/0 200000:4/12/1/0
github-copilot grok-4.7 openai-responses 500000 2/6/0.5/0 200000:4/12/1/0
github-copilot kimi-k2.7-code openai-completions 256000 0.95/4/0.19/0
github-copilot kimi-k3 openai-completions 1048576 3/15/0.3/0
github-copilot mai-code-1-flash-picker openai-responses 256000 0.75/4.5/0.075/0
github-copilot mai-code-1.1-flash openai-responses 256000 0.2/1.2/0.02/0
google deep-research-max-preview-04-2026 google-generative-ai 131072 2/12/0.2/0
google deep-research-preview-04-2026 google-generative-ai 131072 2/12/0.2/0
google gemini-2.5-computer-use-preview-10-2025 google-generative-ai 131072 1.25/10/0/0
google gemini-2.5-flash google-generative-ai 1048576 0.3/2.5/0.03/0
google gemini-2.5-flash-lite google-generative-ai 1048576 0.1/0.4/0.01/0
google gemini-2.5-pro google-generative-ai 1048576 1.25/10/0.125/0
google gemini-3-flash-preview google-generative-ai 1048576 0.5/3/0.05/0
google gemini-3.1-flash-lite google-generative-ai 1048576 0.25/1.5/0.025/0
google gemini-3.1-flash-lite-image google-generative-ai 65536 0.25/30/0/0
google gemini-3.1-flash-lite-preview google-generative-ai 1048576 0.25/1.5/0.025/0
google gemini-3.1-flash-live-preview google-generative-ai 131072 0.75/4.5/0/0
google gemini-3.1-pro-preview google-generative-ai 1048576 2/12/0.2/0
google gemini-3.1-pro-preview-customtools google-generative-ai 1048576 2/12/0.2/0
google gemini-3.5-flash google-generative-ai 1048576 1.5/9/0.15/0
google gemini-3.5-flash-lite google-generative-ai 1048576 0.3/2.5/0.03/0
google gemini-3.6-flash google-generative-ai 1048576 0.75/3.75/0.075/0
google gemini-3.7-flash google-generative-ai 1048576 0.75/3.75/0.075/0
google gemini-3.8-flash google-generative-ai 1048576 0.75/3.75/0.075/0
google gemini-flash-latest google-generative-ai 1048576 1.5/9/0.15/0
google gemini-flash-lite-latest google-generative-ai 1048576 0.25/1.5/0.025/0
google gemma-4-26b-a4b-it google-generative-ai 262144 0/0/0/0
google gemma-4-31b-it google-generative-ai 262144 0/0/0/0
openai gpt-4 openai-responses 8192 30/60/0/0
openai gpt-4-turbo openai-responses 128000 10/30/0/0
openai gpt-4.1 openai-responses 1047576 2/8/0.5/0
openai gpt-4.1-mini openai-responses 1047576 0.4/1.6/0.1/0
openai gpt-4.1-nano openai-responses 1047576 0.1/0.4/0.025/0
openai gpt-4o openai-responses 128000 2.5/10/1.25/0
openai gpt-4o-2024-05-13 openai-responses 128000 5/15/0/0
openai gpt-4o-2024-08-06 openai-responses 128000 2.5/10/1.25/0
openai gpt-4o-2024-11-20 openai-responses 128000 2.5/10/1.25/0
openai gpt-4o-mini openai-responses 128000 0.15/0.6/0.075/0
openai gpt-5 openai-responses 400000 1.25/10/0.125/0
openai gpt-5-chat-latest openai-responses 128000 1.25/10/0.125/0
openai gpt-5-mini openai-responses 400000 0.25/2/0.025/0
openai gpt-5-nano openai-responses 400000 0.05/0.4/0.005/0
openai gpt-5-pro openai-responses 400000 15/120/0/0
openai gpt-5.1 openai-responses 400000 1.25/10/0.125/0
openai gpt-5.2 openai-responses 400000 1.75/14/0.175/0
openai gpt-5.2-chat-latest openai-responses 128000 1.75/14/0.175/0
openai gpt-5.2-pro openai-responses 400000 21/168/0/0
openai gpt-5.3-chat-latest openai-responses 128000 1.75/14/0.175/0
openai gpt-5.3-codex openai-responses 400000 1.75/14/0.175/0
openai gpt-5.3-codex-spark openai-responses 128000 1.75/14/0.175/0
openai gpt-5.4 openai-responses 272000 2.5/15/0.25/0 272000:5/22.5/0.5/0
openai gpt-5.4-mini openai-responses 400000 0.75/4.5/0.075/0
openai gpt-5.4-nano openai-responses 400000 0.2/1.25/0.02/0
openai gpt-5.4-pro openai-responses 1050000 30/180/0/0 272000:60/270/0/0
openai gpt-5.5 openai-responses 272000 5/30/0.5/0 272000:10/45/1/0
openai gpt-5.5-pro openai-responses 1050000 30/180/0/0 272000:60/270/0/0
openai gpt-5.6-luna openai-responses 272000 0.2/1.2/0.02/0.25 272000:0.4/1.8/0.04/0.5
openai gpt-5.6-sol openai-responses 272000 4/20/0.4/5 272000:8/30/0.8/10
openai gpt-5.6-terra openai-responses 272000 2/12/0.2/2.5 272000:4/18/0.4/5
openai gpt-6-astra openai-responses 272000 10/50/1/12.5 272000:20/75/2/25
openai gpt-6-luna openai-responses 272000 0.1/0.5/0.01/0.125 272000:0.2/0.75/0.02/0.25
openai gpt-6-sol openai-responses 272000 2/10/0.2/2.5 272000:4/15/0.4/5
openai gpt-realtime-2.1 openai-responses 128000 4/24/0.4/0
openai o1 openai-responses 200000 15/60/7.5/0
openai o1-pro openai-responses 200000 150/600/0/0
openai o3 openai-responses 200000 2/8/0.5/0
openai o3-mini openai-responses 200000 1.1/4.4/0.55/0
openai o3-pro openai-responses 200000 20/80/0/0
openai o4-mini openai-responses 200000 1.1/4.4/0.275/0
openai-codex gpt-5.3-codex-spark openai-codex-responses 128000 1.75/14/0.175/0
openai-codex gpt-5.5 openai-codex-responses 272000 5/30/0.5/0 272000:10/45/1/0
openai-codex gpt-5.6-luna openai-codex-responses 272000 0.2/1.2/0.02/0.25 272000:0.4/1.8/0.04/0.5
openai-codex gpt-5.6-sol openai-codex-responses 272000 4/20/0.4/5 272000:8/30/0.8/10
openai-codex gpt-5.6-terra openai-codex-responses 272000 2/12/0.2/2.5 272000:4/18/0.4/5
openai-codex gpt-6-astra openai-codex-responses 272000 10/50/1/12.5 272000:20/75/2/25
openai-codex gpt-6-luna openai-codex-responses 272000 0.1/0.5/0.01/0.125 272000:0.2/0.75/0.02/0.25
openai-codex gpt-6-sol openai-codex-responses 272000 2/10/0.2/2.5 272000:4/15/0.4/5`;
