"""Keys that show themselves: by a prefix that nobody else uses, or by a form of their own."""

from __future__ import annotations

from compactor.secret_rules.rule import START, Rule, form_rule, key_rule

_MODEL_PROVIDERS = (
    key_rule("anthropic_key", "sk-ant-", body=r"[A-Za-z0-9_-]{12,}+"),
    key_rule(
        "openai_key",
        *("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-"),
        body=r"(?=[A-Za-z0-9_-]{0,80}[0-9])[A-Za-z0-9_-]{16,}+",
    ),
    key_rule("openai_key", "sk-", body=r"[A-Za-z0-9]{20,}+[A-Za-z0-9_-]*+"),
    key_rule("langfuse_key", "sk-lf-", body=r"[0-9a-f]{8}-[0-9a-f-]{20,}+"),
    key_rule("elevenlabs_key", "sk_", body=r"[0-9a-f]{32,}+(?![A-Za-z0-9_])"),
    key_rule("huggingface_token", "hf_", body=r"[A-Za-z0-9]{20,}+"),
    key_rule("groq_key", "gsk_", body=r"[A-Za-z0-9]{20,}+"),
    key_rule("xai_key", "xai-", body=r"[A-Za-z0-9]{20,}+"),
    key_rule("replicate_token", "r8_", body=r"[A-Za-z0-9]{24,}+"),
    key_rule("perplexity_key", "pplx-", body=r"[A-Za-z0-9]{24,}+"),
    key_rule("cerebras_key", "csk-", body=r"[A-Za-z0-9]{24,}+"),
    key_rule("nvidia_key", "nvapi-", body=r"[A-Za-z0-9_-]{32,}+"),
    key_rule("fireworks_key", "fw_", body=r"[A-Za-z0-9]{20,}+(?![A-Za-z0-9_])"),
    key_rule("langsmith_key", "lsv2_pt_", "lsv2_sk_", body=r"[0-9a-f_]{24,}+"),
    key_rule("tavily_key", "tvly-", body=r"[A-Za-z0-9-]{20,}+"),
    key_rule("firecrawl_key", "fc-", body=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    key_rule("vercel_key", "vck_", body=r"[A-Za-z0-9]{24,}+"),
)

_CODE_HOSTS = (
    key_rule(
        "github_token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", body=r"[A-Za-z0-9]{20,}+[\w.-]*+"
    ),
    key_rule("github_token", "github_pat_", body=r"[A-Za-z0-9_]{20,}+"),
    key_rule(
        "gitlab_token",
        *("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "GR1348941"),
        body=r"[A-Za-z0-9_.-]{16,}+",
    ),
    key_rule("bitbucket_password", "ATBB", body=r"[A-Za-z0-9]{28,}+"),
    key_rule("atlassian_token", "ATATT3", body=r"[A-Za-z0-9_=-]{60,}+"),
    key_rule("npm_token", "npm_", body=r"[A-Za-z0-9]{30,}+"),
    key_rule("pypi_token", "pypi-AgE", body=r"[A-Za-z0-9_-]{30,}+"),
    key_rule("docker_token", "dckr_pat_", "dckr_oat_", body=r"[A-Za-z0-9_-]{20,}+"),
    key_rule("rubygems_key", "rubygems_", body=r"[0-9a-f]{32,}+"),
    key_rule("nuget_key", "oy2", body=r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    key_rule("linear_key", "lin_api_", "lin_oauth_", body=r"[A-Za-z0-9]{30,}+"),
    key_rule("notion_token", "secret_", body=r"[A-Za-z0-9]{40,}+"),
    key_rule("notion_token", "ntn_", body=r"[A-Za-z0-9]{40,}+"),
    key_rule("figma_token", "figd_", body=r"[A-Za-z0-9_-]{30,}+"),
    key_rule("postman_key", "PMAK-", body=r"[0-9a-f]{20,}+-[0-9a-f]{20,}+"),
    key_rule("netlify_token", "nfp_", body=r"[A-Za-z0-9]{30,}+"),
    key_rule("sentry_token", "sntrys_", "sntryu_", body=r"[A-Za-z0-9_+/=-]{40,}+"),
    key_rule("sonar_token", "sqp_", "squ_", "sqa_", body=r"[0-9a-f]{40}"),
    key_rule("circleci_token", "CCIPAT_", "CCIPRJ_", body=r"[A-Za-z0-9_]{30,}+"),
    form_rule(
        "terraform_token",
        ".atlasv1.",
        pattern=r"(?P<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,}+)",
    ),
)

_CLOUDS = (
    # The secret stands beside its id; it has no form that would tell it alone.
    form_rule(
        "aws_key",
        "akia",
        "asia",
        pattern=rf"{START}(?:AKIA|ASIA)[A-Z0-9]{{16}}[^A-Za-z0-9][\s\S]{{0,60}}?"
        r"(?<![A-Za-z0-9+/])(?P<secret>(?![0-9a-f]{40})[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
    ),
    key_rule("aws_key", "AKIA", "ASIA", "ABIA", "ACCA", body=r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    key_rule("google_key", "AIza", body=r"[A-Za-z0-9_-]{30,}+"),
    key_rule("google_token", "ya29.", body=r"[A-Za-z0-9_-]{20,}+"),
    key_rule("google_token", "1//0", body=r"[A-Za-z0-9_-]{40,}+"),
    key_rule("google_secret", "GOCSPX-", body=r"[A-Za-z0-9_-]{20,}+"),
    form_rule(
        "azure_secret",
        "q~",
        pattern=rf"{START}(?P<secret>[A-Za-z0-9_.~-]{{3}}[0-9]Q~[A-Za-z0-9_.~-]{{30,}}+)",
    ),
    key_rule("digitalocean_token", "dop_v1_", "doo_v1_", "dor_v1_", body=r"[0-9a-f]{40,}+"),
    key_rule("heroku_key", "HRKU-", body=r"[A-Za-z0-9_-]{30,}+"),
    key_rule("databricks_token", "dapi", body=r"[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    key_rule("vault_token", "hvs.", "hvb.", "hvr.", body=r"[A-Za-z0-9_-]{24,}+"),
    key_rule(
        "doppler_token",
        *("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
        body=r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{36,}+",
    ),
    key_rule("grafana_token", "glsa_", body=r"[A-Za-z0-9]{24,}+(?:_[A-Fa-f0-9]{8})?"),
    key_rule("grafana_token", "glc_", body=r"[A-Za-z0-9+/=]{32,}+"),
    key_rule("new_relic_key", "NRAK-", "NRJS-", body=r"[A-Za-z0-9]{19,}+"),
    key_rule("alibaba_key", "LTAI", body=r"[A-Za-z0-9]{16,}+"),
    key_rule("tencent_key", "AKID", body=r"[A-Za-z0-9]{28,}+"),
    key_rule("fly_token", "fm2_", "fm1r_", "fo1_", body=r"[A-Za-z0-9+/=_-]{32,}+"),
    key_rule("supabase_token", "sbp_", "sb_secret_", body=r"[A-Za-z0-9_-]{20,}+"),
    key_rule(
        "planetscale_token",
        *("pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
        body=r"[A-Za-z0-9_.=-]{30,}+",
    ),
    key_rule("pulumi_token", "pul-", body=r"[0-9a-f]{40}"),
    key_rule("scaleway_key", "SCW", body=r"[A-Z0-9]{17}(?![A-Za-z0-9])"),
    key_rule("yandex_key", "AQVN", body=r"[A-Za-z0-9_-]{35,}+"),
)

_MESSENGERS_AND_MAIL = (
    key_rule(
        "slack_token",
        *("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"),
        body=r"[A-Za-z0-9%-]{10,}+",
    ),
    form_rule(
        "telegram_token",
        ":aa",
        pattern=r"(?<![0-9])(?:(?<![A-Za-z])|(?<=/bot))"
        r"(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}+)",
    ),
    # The first part is a number in base64, hence its two letters.
    form_rule(
        "discord_token",
        *("mt", "mj", "mz", "nd", "nt", "nj", "nz", "od", "ot"),
        pattern=rf"{START}(?P<secret>(?:M[TjzD]|N[DTjz]|O[DTjz])[A-Za-z0-9_-]{{22,26}}"
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+)",
    ),
    key_rule("twilio_key", "SK", body=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    key_rule("mailgun_key", "key-", body=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    key_rule("sendgrid_key", "SG.", body=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    form_rule(
        "mailchimp_key", "-us", pattern=rf"{START}(?P<secret>[0-9a-f]{{32}}-us[0-9]{{1,2}})(?!\w)"
    ),
    key_rule("brevo_key", "xkeysib-", "xsmtpsib-", body=r"[0-9a-f]{40,}+(?:-[A-Za-z0-9]++)?"),
    key_rule("resend_key", "re_", body=r"[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}+"),
    key_rule("facebook_token", "EAA", body=r"[A-Za-z0-9_-]{56,}+"),
    key_rule("matrix_token", "syt_", body=r"[A-Za-z0-9]{2,60}_[A-Za-z0-9]{16,}+_[A-Za-z0-9]++"),
)

_PAYMENTS_AND_SHOPS = (
    key_rule(
        "stripe_key", "sk_live_", "sk_test_", "rk_live_", "rk_test_", body=r"[A-Za-z0-9]{16,}+"
    ),
    key_rule("stripe_key", "whsec_", body=r"[A-Za-z0-9+/=]{20,}+"),
    key_rule("square_key", "sq0csp-", "sq0atp-", "sq0idp-", body=r"[A-Za-z0-9_-]{20,}+"),
    key_rule("shopify_token", "shpat_", "shpss_", "shpca_", "shppa_", body=r"[0-9a-fA-F]{32}"),
    key_rule(
        "braintree_token",
        "access_token$",
        body=r"(?:production|sandbox)\$[a-z0-9]{8,}+\$[0-9a-f]{32}",
    ),
    key_rule("airtable_token", "pat", body=r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    key_rule("hubspot_token", "pat-", body=r"(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f-]{20,}+"),
)

KEY_RULES: tuple[Rule, ...] = (
    *_MODEL_PROVIDERS,
    *_CODE_HOSTS,
    *_CLOUDS,
    *_MESSENGERS_AND_MAIL,
    *_PAYMENTS_AND_SHOPS,
    key_rule("jwt", "eyJ", body=r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    form_rule(
        "password_hash",
        "$",
        pattern=r"(?P<secret>\$(?:2[abxy]|apr1|argon2(?:id?|d)|[156y])"
        r"\$[A-Za-z0-9./$=,+-]{16,}+)",
    ),
)
